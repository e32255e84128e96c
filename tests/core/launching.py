"""Launch filters for the tests of the core, with patterns that fit some of its boards' tools."""

from hypothesis import strategies as st

from pegboard.core.model.patterns import Allowance, LaunchFilter, Pattern

_scopes = st.sampled_from(["dev", "docs", "*", "files", "dev~github", "*~files", "m?th", "nothing"])
_patterns = st.builds(Pattern, _scopes, st.sampled_from(["*", "read", "*read*", "[rw]*", "nothing", "工具"]))


def _allowances(patterns: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Allowance]:
    some = st.lists(patterns, max_size=3).map(tuple)
    return st.builds(Allowance, st.none() | some, st.just(()) | some)


launches = st.builds(
    LaunchFilter,
    _allowances(st.builds(Pattern, st.just("builtin"), st.sampled_from(["*", "read", "[wl]*", "nothing"]))),
    _allowances(st.builds(Pattern, _scopes, st.just("*"))),
    _allowances(_patterns),
)
