// Before anything is painted: the look that was chosen here, if one was.
try {
  const theme = localStorage.getItem("evenhand-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // A browser that keeps nothing follows the system.
}
