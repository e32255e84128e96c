/** Copies text to the clipboard, also on plain HTTP, where browsers do not offer the clipboard API. */
export async function copyText(text: string): Promise<boolean> {
  try {
    if (window.isSecureContext) {
      await navigator.clipboard.writeText(text);
      return true;
    }
  } catch {
    // Denied by a policy or the person: the older way may still work.
  }
  return copyBySelection(text);
}

/** Selects the text in an invisible text area and runs the browser's copy command. */
function copyBySelection(text: string): boolean {
  const previousFocus = document.activeElement;
  const container = document.createElement("textarea");
  container.value = text;
  container.readOnly = true;
  container.setAttribute("aria-hidden", "true");
  container.className = "visually-hidden";
  // Inside the open dialog, if there is one: nothing outside of it can be focused.
  (previousFocus?.closest("dialog") ?? document.body).append(container);
  container.select();
  try {
    return document.execCommand("copy");
  } finally {
    container.remove();
    if (previousFocus instanceof HTMLElement) previousFocus.focus();
  }
}
