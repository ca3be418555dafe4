// Run in the page: what is hard to read, and what does not fit. Returns lists of sentences; empty ones are good.
(() => {
  const luminance = ([red, green, blue]) => {
    const part = (value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
  };
  const ratio = (left, right) => {
    const [high, low] = [luminance(left), luminance(right)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colour = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return { rgb: [red, green, blue], alpha };
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const found = colour(getComputedStyle(each).backgroundColor);
      if (found.alpha === 255) return found.rgb;
    }
    return colour(getComputedStyle(document.documentElement).backgroundColor).rgb;
  };
  const seen = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;
  const faint = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
    const control = ["INPUT", "SELECT"].includes(element.tagName);
    if ((!own && !control) || !seen(element) || element.closest(".skip")) continue;
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const found = ratio(colour(style.color).rgb, behind(element));
    if (found < (large ? 3 : 4.5)) faint.push(`${element.tagName} "${element.textContent.trim().slice(0, 40)}": ${found.toFixed(2)}`);
  }
  for (const mark of document.querySelectorAll(".swatch, .strip rect:not(.cursor), .chart path:not(.base)")) {
    if (!seen(mark)) continue;
    const style = getComputedStyle(mark);
    const paint = mark.tagName === "path" ? style.stroke : mark.tagName === "rect" ? style.fill : style.backgroundColor;
    const found = ratio(colour(paint).rgb, behind(mark.parentElement));
    if (found < 3) faint.push(`${mark.getAttribute("class")}: ${found.toFixed(2)}`);
  }
  for (const control of document.querySelectorAll("button, input, select")) {
    if (!seen(control)) continue;
    const found = ratio(colour(getComputedStyle(control).borderTopColor).rgb, behind(control.parentElement));
    if (found < 3) faint.push(`edge of ${control.tagName} ${control.name || control.textContent}: ${found.toFixed(2)}`);
  }
  const root = document.documentElement;
  const wide = root.scrollWidth > root.clientWidth ? [`the page is ${root.scrollWidth} wide in ${root.clientWidth}`] : [];
  const inline = [...document.querySelectorAll("[style], script:not([src]), style")].map((each) => each.outerHTML.slice(0, 60));
  return { faint, wide, inline };
})()
