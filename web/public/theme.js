// Runs before the first paint: applies the saved theme, if there is one.
(() => {
  try {
    const theme = localStorage.getItem("pegboard.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Without local storage the system's theme applies.
  }
})();
