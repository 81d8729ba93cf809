// A canvas context's few calls that painting uses, written as SVG elements.

export class SvgContext {
  constructor() {
    this.parts = [];
    this.fillStyle = "#000";
    this.globalAlpha = 1;
    this.font = "11px sans-serif";
    this.shift = { x: 0, y: 0 };
  }

  /** What is drawn from now on has its origin there. */
  moveTo(x, y) {
    this.shift = { x, y };
  }

  fillRect(x, y, width, height) {
    if (width <= 0) return;
    this.add("rect", { ...this.place(x, y), width: round(width), height: round(height) });
  }

  fillText(text, x, y) {
    const [, weight, size] = this.font.match(/^(\d+ )?([\d.]+)px/) ?? [null, "", "11"];
    const font = { "font-size": size, "font-weight": (weight ?? "").trim() || 400, "dominant-baseline": "central" };
    this.add("text", { ...this.place(x, y), ...font }, text);
  }

  place(x, y) {
    return { x: round(x + this.shift.x), y: round(y + this.shift.y) };
  }

  add(name, attributes, text = "") {
    const shade = this.globalAlpha < 1 ? { "fill-opacity": round(this.globalAlpha) } : {};
    this.parts.push(tag(name, { ...attributes, fill: this.fillStyle, ...shade }, escaped(text)));
  }

  /** The text of an SVG file with everything drawn so far. */
  file(width, height, font) {
    const root = { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` };
    return tag("svg", { ...root, "font-family": font }, this.parts.join(""));
  }
}

function tag(name, attributes, content) {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(String(value))}"`);
  return `<${name}${written.join("")}>${content}</${name}>`;
}

/** Marks up what XML reserves; control characters, which some traces have in names, are no XML at all. */
function escaped(text) {
  const printable = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "");
  return printable.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

function round(value) {
  return Math.round(value * 100) / 100;
}
