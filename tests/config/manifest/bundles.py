"""Toolsets as people made them for the system of seed 003: every key that it took, in the ways it took them."""

QUIZ = {
    "toolset.yaml": """
manifest_version: "1"
id: quiz
name: Quiz maker
version: "1.0.0"
description: Makes quizzes and shows them as a page.

tools:
  - id: create_quiz
    name: Create quiz
    description: Makes a quiz about a topic.
    entrypoint: tools.quiz:create_quiz
    category: learning
    requires_confirmation: false
    input_schema:
      type: object
      properties:
        topic: {type: string}
      required: [topic]
    renderer:
      type: html
      artifact: artifacts/quiz.html
      data: $return
  - id: grade
    entrypoint: tools.grading:grade
    requires_confirmation: true
    renderer: {type: markdown, content: $return.text, editable: true}
  - id: list_quizzes
    entrypoint: tools.quiz:list_quizzes
    renderer: {type: default}
""",
    "tools/__init__.py": "",
    "tools/quiz.py": "def create_quiz(topic: str) -> dict: ...\ndef list_quizzes() -> list: ...\n",
    "tools/grading.py": "from .quiz import create_quiz\ndef grade(answers: list[str]) -> dict: ...\n",
    "artifacts/quiz.html": "<!doctype html><title>Quiz</title>",
}

WORKBENCH = {
    "toolset.yml": """
id: workbench
name: Workbench
version: 2.1
mcp_servers:
  - id: filesystem
    command: npx
    args: ["-y", "@modelcontextprotocol/server-filesystem", "."]
    cwd: files
    env:
      LOG_LEVEL: warn
  - id: issues
    url: https://issues.example.org/mcp
    transport: streamable-http
    headers:
      Authorization: Bearer ${ISSUES_TOKEN}
    requires_confirmation: true
  - id: legacy
    url: https://legacy.example.org/sse
    transport: sse
    requiresConfirmation: false
  - id: local
    command: python3
    args: [servers/local.py, 8080]
    transport: stdio
tool_overrides:
  - tool_id: filesystem:read_file
    renderer: code
    renderer_config:
      file: $args.path
      content: $return
  - tool_id: mcp:filesystem:write_file
    renderer: file-diff
    requires_confirmation: true
  - tool_id: mcp:workbench~issues:create_issue
    nameOverride: New issue
    descriptionOverride: Opens an issue.
    requiresConfirmation: true
  - tool_id: workbench~issues:close_issue
    enabled: false
  - tool_id: legacy:search
    renderer: web-search
""",
    "files/.keep": "",
    "servers/local.py": "print('hello')\n",
}

EXPORTED = {
    "toolset.yaml": """
manifest_version: '1'
id: notes
name: Notes
version: 0.3.0
description: null
tools:
- id: add
  name: add
  description: Adds a note.
  entrypoint: tools.notes:add
  requires_confirmation: false
  renderer:
    type: document
    file: note.md
    content: $args.text
- id: show
  name: Show
  description: null
  entrypoint: tools.notes:show
  requires_confirmation: true
tool_overrides:
- tool_id: add
  rendererConfig:
    content: $return
- tool_id: notes:show
  renderer: key-value
  name_override: Show a note
  description_override: null
  requires_confirmation: null
  enabled: true
mcp_servers:
- id: sync
  command: uvx
  args: [notes-sync]
  cwd: null
  url: null
  headers: null
  env:
    SYNC_TOKEN: ${SYNC_TOKEN}
  requires_confirmation: true
""",
    "tools/notes.py": "def add(text: str) -> str: ...\ndef show() -> dict: ...\n",
}

BUNDLES = {"quiz": QUIZ, "workbench": WORKBENCH, "exported": EXPORTED}
