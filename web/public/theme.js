// Before anything is painted: the theme that was chosen here, if one was.
(() => {
  try {
    const theme = localStorage.getItem("pegboard.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Whoever forbids the page to keep anything gets the theme of their system.
  }
})();
