/** Onto the clipboard, also where the page came over plain HTTP: browsers give the clipboard to secure pages only. */
export async function copyText(text: string): Promise<boolean> {
  try {
    if (window.isSecureContext) {
      await navigator.clipboard.writeText(text);
      return true;
    }
  } catch {
    // Forbidden by a policy or a person: the old way may still go.
  }
  return copyBySelection(text);
}

/** The text is marked for a moment in a box nobody sees, and copied as a person would. */
function copyBySelection(text: string): boolean {
  const previousFocus = document.activeElement;
  const box = document.createElement("textarea");
  box.value = text;
  box.readOnly = true;
  box.setAttribute("aria-hidden", "true");
  box.className = "unseen";
  // Within the dialog that is open, if one is: nothing outside of it takes the focus.
  (previousFocus?.closest("dialog") ?? document.body).append(box);
  box.select();
  try {
    return document.execCommand("copy");
  } finally {
    box.remove();
    if (previousFocus instanceof HTMLElement) previousFocus.focus();
  }
}
