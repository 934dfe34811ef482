// Rows of many models: sorted, filtered, drawn only where the window has room for them.

const grid = (found) => {
  const host = $('grid'), HEIGHT = 30, MORE = 12;
  // A code is a place in the list of values, its last digit first.
  const digit = new Map([...found.digits].map((sign, k) => [sign, k])), base = found.digits.length;
  const coded = (c) => (i) => {
    let place = 0;
    for (let k = c.digits - 1; k >= 0; k--) place = place * base + digit.get(c.codes[i * c.digits + k]);
    return c.list[place];
  };
  const columns = found.columns.map((c) => ({...c,
    value: 'all' in c ? () => c.all : c.codes ? coded(c) : (i) => c.values[i]}));
  const byName = new Map(columns.map((c) => [c.name, c]));
  const isNumber = (c) => c.kind === 'int64';
  const isEmpty = (v) => v === null || v === '';
  const shown = (c, v) => (isEmpty(v) ? '' : isNumber(c) ? grouped(v) : v === true ? 'yes' : v === false ? 'no' : String(v));
  const asCsv = (v) => quoted(isEmpty(v) ? '' : String(v));
  let chosen = columns.filter((c) => c.shown), order = [], by = null, down = false;

  // ---- the filter: words, and name<number, name>=number, name=text, name:part

  const UNITS = {k: 1e3, m: 1e6, b: 1e9, g: 1e9, t: 1e12};
  const numberOf = (text, column) => {
    const parts = /^(-?[\d,]+(?:\.\d+)?(?:e\d+)?)([kmbgt]?)b?$/i.exec(text);
    if (!parts) return null;
    const unit = parts[2].toLowerCase(), tokens = unit === 'k' && /context|tokens/.test(column.name);
    return Number(parts[1].replace(/,/g, '')) * (tokens ? 1024 : UNITS[unit] || 1);
  };
  const COMPARE = {'<': (a, b) => a < b, '<=': (a, b) => a <= b, '>': (a, b) => a > b, '>=': (a, b) => a >= b, '=': (a, b) => a === b, ':': (a, b) => a === b};
  const term = (word) => {
    const parts = /^(\w+)(<=|>=|<|>|=|:)(.*)$/.exec(word), c = parts && byName.get(parts[1].toLowerCase());
    if (!c) return (i) => chosen.some((one) => shown(one, one.value(i)).toLowerCase().includes(word));
    const [, , sign, text] = parts, wanted = numberOf(text, c);
    if (isNumber(c) && wanted !== null) return (i) => !isEmpty(c.value(i)) && COMPARE[sign](Number(c.value(i)), wanted);
    if (sign === ':') return (i) => shown(c, c.value(i)).toLowerCase().includes(text);
    return (i) => shown(c, c.value(i)).toLowerCase() === (text === 'unknown' ? '' : text);
  };

  // ---- controls

  const filter = make('input', {type: 'search', id: 'filter', placeholder: 'llama parameters<10B'});
  const told = make('span', {role: 'status'});
  const copy = make('button', {type: 'button', textContent: 'Copy as CSV'});
  copy.onclick = () => copied([chosen.map((c) => quoted(c.name)).join(','),
    ...order.map((i) => chosen.map((c) => asCsv(c.value(i))).join(','))].join('\n'), copy);
  const picks = make('div', {className: 'picks'}, ...columns.map((c) => {
    const box = make('input', {type: 'checkbox', checked: Boolean(c.shown)});
    box.onchange = () => { chosen = columns.filter((one) => (one === c ? box.checked : chosen.includes(one))); head(); paint(true); };
    return make('label', {title: c.meaning}, box, ' ' + c.name);
  }));

  // ---- the table

  const group = make('colgroup'), top = make('thead'), body = make('tbody');
  const table = make('table', {}, group, top, body);
  const pane = make('div', {className: 'pane', tabIndex: 0, role: 'group', ariaLabel: 'Models'}, table);
  // Names of models stay in sight: in a narrow window they take half of it.
  const narrow = matchMedia('(max-width:44rem)');
  const widthOf = (c, k) => (k || !narrow.matches ? c.width : Math.min(c.width, 18)) + 2;
  const head = () => {
    group.replaceChildren(...chosen.map((c, k) => { const col = make('col'); col.style.width = widthOf(c, k) + 'ch'; return col; }));
    table.style.width = chosen.reduce((sum, c, k) => sum + widthOf(c, k), 0) + 'ch';
    top.replaceChildren(make('tr', {ariaRowIndex: '1'}, ...chosen.map((c) => {
      const button = make('button', {type: 'button', textContent: c.name, title: c.meaning});
      button.onclick = () => { down = by === c ? !down : isNumber(c); by = c; arrange(); pane.scrollTop = 0; };
      const cell = make('th', {scope: 'col', className: isNumber(c) ? 'n' : ''}, button);
      if (by === c) cell.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      return cell;
    })));
  };
  const spacer = (rows) => {
    const cell = make('td', {colSpan: chosen.length || 1}), row = make('tr', {ariaHidden: 'true', className: 'space'}, cell);
    cell.style.height = rows * HEIGHT + 'px';
    return row;
  };
  let from = -1;
  const paint = (always) => {
    const first = Math.max(Math.floor(pane.scrollTop / HEIGHT) - MORE, 0);
    if (!always && Math.abs(first - from) < MORE / 2) return;
    from = first;
    const last = Math.min(first + Math.ceil((pane.clientHeight || 600) / HEIGHT) + 2 * MORE, order.length);
    const rows = [];
    for (let at = first; at < last; at++) {
      rows.push(make('tr', {ariaRowIndex: String(at + 2)}, ...chosen.map((c) => {
        const text = shown(c, c.value(order[at]));
        // Of a path in a narrow window its end says more.
        const part = narrow.matches && c === chosen[0] && text.length > 18 ? '\u2026' + text.slice(-16) : text;
        return make('td', {className: isNumber(c) ? 'n' : '', title: text.length > 16 ? text : '', textContent: part});
      })));
    }
    body.replaceChildren(spacer(first), ...rows, spacer(order.length - last));
    table.setAttribute('aria-rowcount', order.length + 1);
  };

  // ---- charts: as many rows as fall into each bar; a bar's name filters by it

  const charts = found.charts.map(([title, name, bars]) => {
    const c = byName.get(name), lines = bars.map(([label, low, high]) => {
      const none = low === null && high === null;
      const holds = none ? (v) => isEmpty(v) : (v) => !isEmpty(v) && (low === null || Number(v) >= low) && (high === null || Number(v) < high);
      const query = none ? `${name}=unknown` : c.kind === 'bool' ? `${name}=${low ? 'yes' : 'no'}`
        : [low && `${name}>=${low}`, high && `${name}<${high}`].filter(Boolean).join(' ');
      const button = make('button', {type: 'button', textContent: label, title: query});
      button.onclick = () => { filter.value = filter.value === query ? '' : query; arrange(); };
      const number = make('td', {className: 'n'}), rect = draw('rect', {height: 11, class: 'bar'});
      const picture = draw('svg', {width: 160, height: 11, 'aria-hidden': 'true'});
      picture.append(rect);
      return {holds, number, rect, row: make('tr', {}, make('th', {scope: 'row'}, button), number, make('td', {}, picture))};
    });
    const element = make('table', {className: 'bars'}, make('caption', {textContent: title}),
      make('thead', {}, make('tr', {}, make('th', {scope: 'col'}, make('span', {className: 'hide', textContent: 'range'})), make('th', {scope: 'col', className: 'n', textContent: 'models'}),
        make('th', {scope: 'col'}, make('span', {className: 'hide', textContent: 'share as a bar'})))), make('tbody', {}, ...lines.map((line) => line.row)));
    return {element, update: () => {
      const counts = lines.map((line) => order.reduce((sum, i) => sum + line.holds(c.value(i)), 0)), most = Math.max(...counts, 1);
      lines.forEach((line, k) => { line.number.textContent = grouped(counts[k]); line.rect.setAttribute('width', 160 * counts[k] / most); });
    }};
  });

  const collator = new Intl.Collator('en', {numeric: true});
  const arrange = () => {
    const terms = filter.value.toLowerCase().split(/\s+/).filter(Boolean).map(term);
    order = [];
    for (let i = 0; i < found.rows; i++) if (terms.every((is) => is(i))) order.push(i);
    if (by) {
      const values = order.map((i) => by.value(i)), sign = down ? -1 : 1;
      const places = order.map((_, k) => k).sort((a, b) => {
        const [x, y] = [values[a], values[b]];
        if (isEmpty(x) || isEmpty(y)) return isEmpty(x) - isEmpty(y) || a - b;
        return sign * (isNumber(by) ? Number(x) - Number(y) : collator.compare(String(x), String(y))) || a - b;
      });
      order = places.map((k) => order[k]);
    }
    told.textContent = order.length === found.rows ? `${grouped(found.rows)} models` : `${grouped(order.length)} of ${grouped(found.rows)} models`;
    head(); paint(true);
    charts.forEach((chart) => chart.update());
  };

  // ---- the page

  let waiting = 0;
  filter.oninput = () => { clearTimeout(waiting); waiting = setTimeout(() => { pane.scrollTop = 0; arrange(); }, 60); };
  pane.addEventListener('scroll', () => requestAnimationFrame(() => paint(false)), {passive: true});
  new ResizeObserver(() => paint(true)).observe(pane);
  narrow.addEventListener('change', () => { head(); paint(true); });
  const left = found.left.length ? [make('p', {className: 'note', textContent: `Not on this page, for want of room: ${found.left.join(', ')}. --columns chooses columns; --format csv has all.`})] : [];
  const cut = found.cut ? [make('p', {className: 'note', textContent: `${grouped(found.cut)} more rows: --format csv has all.`})] : [];
  host.append(
    make('details', {open: !narrow.matches}, make('summary', {textContent: 'Charts'}),
      make('div', {className: 'charts'}, ...charts.map((chart) => chart.element))),
    make('div', {className: 'tool'}, make('label', {}, 'Filter ', filter), told, copy),
    make('p', {className: 'note', textContent: 'Words, or a column with a bound: parameters<10B, nbytes>=24GB, fits=yes, dtype:bf16. A column\u2019s name sorts.'}),
    make('details', {}, make('summary', {textContent: 'Columns'}), picks), pane, ...left, ...cut);
  host.hidden = false;
  arrange();
};

if (data.grid) grid(data.grid);
