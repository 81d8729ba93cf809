// Which colours does the page have at the moment? Streamlit's background decides between the two palettes.

function luminance(colour) {
  const [red, green, blue] = (colour.match(/[\d.]+/g) ?? [255, 255, 255]).map(Number);
  return (0.299 * red + 0.587 * green + 0.114 * blue) / 255;
}

/** The palette for what stands behind `element`: Streamlit's own variable, resolved to a colour. */
export function paletteFor(element, themes) {
  const probe = document.createElement("span");
  probe.style.color = "var(--st-background-color, #ffffff)";
  element.append(probe);
  const dark = luminance(getComputedStyle(probe).color) < 0.5;
  probe.remove();
  return { ...(dark ? themes.dark : themes.light), name: dark ? "dark" : "light" };
}
