// @ts-check
// Stands in every page, before its style sheets: a page is light or dark from its first paint on.

/** What the reader has chosen, or what the system says: `auto`. @param {string} [mode] */
function gruTheme(mode) {
  try {
    if (mode) localStorage.setItem("mode", mode);
    mode = localStorage.getItem("mode") ?? mode;
  } catch { /* nothing is kept here */ }
  const dark = mode === "dark" || (mode !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  Object.assign(document.documentElement.dataset, { mode: mode ?? "auto", theme: dark ? "dark" : "light" });
}
gruTheme();
