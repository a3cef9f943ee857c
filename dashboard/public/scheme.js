// Before the first paint, so that nobody who chose dark sees a white flash; the page's own script comes later.
const chosen = localStorage.getItem("assay-scheme");
const dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
document.documentElement.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light");
