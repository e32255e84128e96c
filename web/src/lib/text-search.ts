/** Text search in thousands of items while somebody types. The texts are lower-cased once, in advance. */

export type TextIndex<T> = readonly { readonly item: T; readonly text: string }[];

export function buildTextIndex<T>(items: readonly T[], textOf: (item: T) => string): TextIndex<T> {
  return items.map((item) => ({ item, text: textOf(item).toLowerCase() }));
}

/** Items with every word of the query, in their order; those that start with the first word come first. */
export function searchRanked<T>(index: TextIndex<T>, query: string): readonly T[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const first = words[0];
  if (first === undefined) return index.map(({ item }) => item);
  const prefixMatches: T[] = [];
  const otherMatches: T[] = [];
  for (const { item, text } of index) {
    if (!words.every((word) => text.includes(word))) continue;
    (text.startsWith(first) ? prefixMatches : otherMatches).push(item);
  }
  return [...prefixMatches, ...otherMatches];
}

/** The same without reordering, for items with a fixed position. */
export function searchInOrder<T>(index: TextIndex<T>, query: string): readonly T[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return index.map(({ item }) => item);
  const matches: T[] = [];
  for (const { item, text } of index) if (words.every((word) => text.includes(word))) matches.push(item);
  return matches;
}
