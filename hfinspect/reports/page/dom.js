// What the scripts of all pages share. All numbers come from the page's own data; nothing is loaded,
// nothing is kept, and all text is set as text.
const $ = (id) => document.getElementById(id);
const make = (name, props, ...children) => {
  const node = document.createElement(name);
  for (const key in props || {}) {
    if (key in node && key !== 'list') node[key] = props[key]; else node.setAttribute(key, props[key]);
  }
  node.append(...children);
  return node;
};
const draw = (name, props, text) => {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const key in props) node.setAttribute(key, props[key]);
  if (text) node.textContent = text;
  return node;
};
const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ',');
// As the reports round: three digits, never up a unit without changing the unit.
const rounded = (n, units) => {
  for (const [size, unit] of units) {
    if (n * 1000 >= size * 999.5) {
      const value = n / size;
      return value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0) + unit;
    }
  }
  return null;
};
const bytes = (n) => rounded(Number(n), [[1e12, ' TB'], [1e9, ' GB'], [1e6, ' MB'], [1e3, ' kB']]) || n + ' B';
const count = (n) => rounded(Number(n), [[1e12, ' T'], [1e9, ' B'], [1e6, ' M'], [1e3, ' K']]) || String(n);
const copied = async (text, button) => {
  const said = button.textContent;
  try { await navigator.clipboard.writeText(text); } catch {
    const area = make('textarea', {value: text});
    document.body.append(area); area.select(); document.execCommand('copy'); area.remove();
  }
  button.textContent = 'Copied';
  setTimeout(() => { button.textContent = said; }, 1500);
};
const data = $('data') ? JSON.parse($('data').textContent) : {};
// A cell of a CSV that no spreadsheet runs.
const quoted = (text) => {
  const safe = /^[=+\-@\t\r]/.test(text) ? "'" + text : text; // no spreadsheet runs it
  return /[",\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
};
