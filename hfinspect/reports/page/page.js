// A treemap to walk through, sliders for memory, letters that show where they stand, tables to
// filter, sort and copy.

// ---- treemap: areas, squarified (Bruls, Huizing, van Wijk 2000); below a part three levels at a time

const squarified = (sizes, w, h) => {
  const boxes = [], whole = sizes.reduce((a, b) => a + b, 0), scale = w * h / whole;
  let x = 0, y = 0, i = 0;
  while (i < sizes.length) {
    const side = Math.min(w, h);
    let n = 0, total = 0, best = Infinity;
    while (i + n < sizes.length) {
      const area = sizes[i + n] * scale, grown = total + area;
      const worst = Math.max(side * side * sizes[i] * scale / grown ** 2, grown ** 2 / (side * side * area));
      if (worst > best) break;
      total = grown; best = worst; n++;
    }
    const depth = total / side, wide = w >= h;
    let at = wide ? y : x;
    for (; n > 0; n--, i++) {
      const length = sizes[i] * scale / depth;
      boxes.push(wide ? [x, at, depth, length] : [at, y, length, depth]);
      at += length;
    }
    if (wide) { x += depth; w = Math.max(w - depth, 1e-9); } else { y += depth; h = Math.max(h - depth, 1e-9); }
  }
  return boxes;
};

const treemap = (found) => {
  const {measures, names, leaves} = found, host = $('treemap');
  let measure = 0, root, zoom, focus = null, text = '', layer = null;
  const KINDS = ['part', 'component', 'group', 'module'];
  // The layers that a group's name lists, as pairs: "layers 0-2, 7" has [0, 2] and [7, 7].
  const runs = (group) => {
    const list = /layers? ([\d, -]+)$/.exec(group);
    return list ? list[1].split(',').map((run) => { const ends = run.trim().split('-').map(Number); return [ends[0], ends[ends.length - 1]]; }) : [];
  };
  const grow = () => {
    root = {kind: 'root', label: 'all', children: [], size: 0n, path: [], parent: null};
    for (const leaf of leaves) {
      const size = BigInt(leaf[4 + measure] ?? 0);
      if (!size) continue;
      let node = root;
      node.size += size;
      for (const [i, kind] of KINDS.entries()) {
        const step = names[leaf[i]];
        if (!step) continue;
        let next = node.children.find((c) => c.label === step);
        if (!next) {
          next = {kind, label: step, children: [], size: 0n, parent: node, component: i ? names[leaf[1]] : ''};
          next.path = [...node.path, step];
          next.runs = kind === 'group' ? runs(step) : node.runs || [];
          node.children.push(next);
        }
        next.size += size;
        node = next;
      }
    }
    const sort = (node) => {
      // What has a single child is one with it; a component keeps its colour, a part is shown as it is.
      while (node !== root && node.kind !== 'part' && node.children.length === 1) {
        const child = node.children[0];
        node.label += (node.kind === 'group' ? ' ' : ' \u00b7 ') + child.label;
        if (node.kind !== 'component') node.kind = child.kind;
        node.path = child.path; node.runs = child.runs; node.children = child.children;
        for (const c of node.children) c.parent = node;
      }
      node.children.forEach(sort);
      node.children.sort((a, b) => (a.size < b.size ? 1 : -1));
    };
    sort(root);
  };
  const unit = () => measures[measure][2];
  const sized = (n) => (unit() === 'bytes' ? bytes(n) : count(n));
  const share = (node) => (Number(node.size) / Number(measures[measure][3]) * 100).toFixed(1) + '%';
  const full = (node) => `${node.path.join(' / ') || 'all'}: ${grouped(node.size)} ${unit()}` +
    (unit() === 'bytes' ? ` (${bytes(node.size)})` : '') + `, ${share(node)} of all`;
  const wanted = () => text || layer !== null;
  const inLayer = (node) => (node.runs || []).some(([a, b]) => a <= layer && layer <= b);
  const is = (node) => wanted() && (!text || node.path.join('.').toLowerCase().includes(text)) && (layer === null || inLayer(node));
  const holds = (node) => is(node) || node.children.some(holds);

  const map = make('div', {className: 'map', role: 'tree'});
  const at = make('p', {className: 'at', id: 'at', ariaLive: 'polite'});
  const crumbs = make('ol', {className: 'crumbs'});
  const search = make('input', {type: 'search', id: 'find', placeholder: 'q_proj, norm, layer 3'});
  const hits = make('span', {role: 'status'});
  const radios = make('fieldset', {}, make('legend', {textContent: 'Area'}), ...measures.map((m, i) => {
    const radio = make('input', {type: 'radio', name: 'area', value: m[0], checked: i === 0});
    radio.onchange = () => { measure = i; grow(); go(null); };
    return make('label', {}, radio, ' ' + m[1]);
  }));
  // Pixels that a label takes, and a label with the size below it.
  const LINE = 21, LINES = 37;
  const tile = (node, box, deep, i, w, h, head) => {
    const [x, y, tw, th] = box, shown = [];
    const filled = node.kind === 'component' || (deep === 2 && node.kind !== 'part');
    const el = make('div', {className: `t c-${node.component || 'part'}` + (filled || node.kind === 'part' ? '' : ' in'), role: 'treeitem',
      tabIndex: -1, 'aria-level': level(node), 'aria-posinset': i + 1, 'aria-setsize': node.parent.children.length});
    Object.assign(el.style, {left: x / w * 100 + '%', top: y / h * 100 + '%', width: tw / w * 100 + '%', height: th / h * 100 + '%'});
    el.node = node; node.el = el;
    if (wanted()) el.classList.add(is(node) ? 'hit' : holds(node) || above(node) ? 'near' : 'dim');
    if (tw > 34 && th >= LINE) shown.push(make('span', {textContent: node.label}));
    if (shown.length && tw > 52 && head >= LINES) shown.push(' ', make('span', {className: 'v', textContent: `${sized(node.size)}, ${share(node)}`}));
    el.append(...shown);
    el.setAttribute('aria-label', `${node.label} ${sized(node.size)}, ${share(node)}; ${full(node)}`);
    return el;
  };
  const above = (node) => { for (let n = node.parent; n; n = n.parent) if (is(n)) return true; return false; };
  const level = (node) => { let n = 0; for (let p = node; p.parent; p = p.parent) n++; return n; };
  const paint = () => {
    map.replaceChildren();
    map.setAttribute('aria-label', `${zoom.path.join(' / ') || 'Model'} by ${measures[measure][1]}`);
    const w = map.clientWidth || 1000, h = map.clientHeight || 430;
    // Tiles lie in one element, outer ones first; levels say what is in what.
    const forget = (node) => { node.el = null; node.children.forEach(forget); };
    forget(root);
    const lay = (node, left, top, width, height, deep) => {
      const boxes = squarified(node.children.map((c) => Number(c.size)), width, height);
      node.children.forEach((child, i) => {
        const [x, y, tw, th] = boxes[i];
        if (tw < 1.2 || th < 1.2) return;
        const few = th > 60 ? LINES : LINE;
        const room = child.children.length && deep > 0 && tw > 60 && th > few + 20;
        // What lies in a tile begins below its label; a tile without has its own room.
        const el = tile(child, [left + x, top + y, tw, th], deep, i, w, h, room ? few : th);
        map.append(el);
        if (!child.children.length) return;
        el.setAttribute('aria-expanded', Boolean(room));
        if (room) lay(child, left + x + 4, top + y + few, tw - 8, th - few - 4, deep - (child.kind !== 'part'));
      });
    };
    lay(zoom, 0, 0, w, h, 2);
    const first = focus && focus.el ? focus : zoom.children.find((c) => c.el);
    if (first) first.el.tabIndex = 0;
    const line = [];
    for (let n = zoom; n; n = n.parent) line.unshift(n);
    crumbs.replaceChildren(...line.map((n, i) => {
      const button = make('button', {type: 'button', textContent: n.label});
      if (i === line.length - 1) button.setAttribute('aria-current', 'true');
      button.onclick = () => go(n);
      return make('li', {}, button);
    }));
  };
  const say = (node) => { at.textContent = full(node) + (measures[measure][4] ? ` (${measures[measure][4]})` : ''); };
  const go = (node, then) => {
    zoom = node || root; focus = then || null;
    paint(); say(then || zoom);
    if (then && then.el) then.el.focus();
  };
  const move = (node) => {
    if (!node || !node.el) return;
    for (const el of map.querySelectorAll('[tabindex="0"]')) el.tabIndex = -1;
    focus = node; node.el.tabIndex = 0; node.el.focus();
  };
  const into = (node) => { if (node.children.length) go(node, node.children[0]); };
  const out = () => { if (zoom.parent) { const was = zoom; go(zoom.parent, was); } };
  map.addEventListener('focusin', (e) => { if (e.target.node) { focus = e.target.node; say(focus); } });
  map.addEventListener('pointerover', (e) => { const el = e.target.closest('.t'); if (el) say(el.node); });
  map.addEventListener('click', (e) => {
    const el = e.target.closest('.t');
    if (!el) return;
    let node = el.node;
    if (!node.children.length && node.parent !== zoom) node = node.parent;
    if (node.children.length && node !== zoom) go(node, node.children[0]); else move(el.node);
  });
  map.addEventListener('keydown', (e) => {
    const node = e.target.node;
    if (!node || e.altKey || e.ctrlKey || e.metaKey) return;
    const shown = [...map.querySelectorAll('.t')].map((el) => el.node), i = shown.indexOf(node);
    const inside = node.children.find((c) => c.el);
    const keys = {
      ArrowDown: () => move(shown[i + 1]), ArrowUp: () => move(shown[i - 1]),
      ArrowRight: () => (inside ? move(inside) : into(node)),
      ArrowLeft: () => (node.parent === zoom ? out() : move(node.parent)),
      Home: () => move(shown[0]), End: () => move(shown[shown.length - 1]),
      Enter: () => into(node), ' ': () => into(node), Escape: out, Backspace: out,
    };
    if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
  });
  search.oninput = () => {
    // "layers 3" and "layer 3 q_proj" are about one layer; its size is that of equal ones divided.
    const query = search.value.trim().toLowerCase(), one = /\blayers? (\d+)(?![\d-])/.exec(query);
    layer = one ? Number(one[1]) : null;
    text = (one ? query.replace(one[0], '') : query).trim();
    const all = [];
    const walk = (n) => { if (is(n)) all.push(n); else n.children.forEach(walk); };
    walk(root);
    const share = (n) => (layer === null ? n.size : n.size / n.runs.reduce((sum, [a, b]) => sum + BigInt(b - a + 1), 0n));
    const sum = all.reduce((a, n) => a + share(n), 0n);
    hits.textContent = wanted() ? `${all.length} found, ${grouped(sum)} ${unit()}` + (layer === null ? '' : ` in layer ${layer}`) : '';
    search.first = all[0];
    paint();
  };
  search.onkeydown = (e) => { if (e.key === 'Enter' && search.first) { e.preventDefault(); go(search.first.parent, search.first); } };
  host.append(
    make('div', {className: 'tool'}, radios, make('label', {}, 'Find ', search), hits),
    make('nav', {ariaLabel: 'Place in the treemap', className: 'place'}, crumbs), map, at,
    make('p', {className: 'note', textContent: 'Click or press Enter to open an area, Escape to leave it; move with the arrow keys. The tables list all numbers.'}));
  host.hidden = false;
  grow(); go(null);
  let width = map.clientWidth;
  new ResizeObserver(() => { if (map.clientWidth !== width) { width = map.clientWidth; paint(); } }).observe(map);
};

// ---- memory: every number is a point of the page's own lines

const memory = (found) => {
  const {contexts, batches, curves, lines, cards} = found, host = $('sliders');
  const at = (line, x) => { // exact: the lines were made so that each context gives a whole number
    const p = lines[line];
    for (let i = 0; i + 3 < p.length; i += 2) {
      if (x <= p[i + 2]) {
        const [x0, y0, x1, y1] = p.slice(i, i + 4).map(BigInt);
        return y0 + (y1 - y0) * (BigInt(x) - x0) / (x1 - x0);
      }
    }
    return BigInt(p[p.length - 1]);
  };
  const select = (id, values) => make('select', {id}, ...values.map((v) => make('option', {value: v, textContent: v})));
  const engines = [...new Set(curves.map((c) => c[0]))];
  const engine = select('engine', engines);
  if (engines.includes(found.engine)) engine.value = found.engine;
  const dtype = select('dtype', []);
  const slider = (id, values, value) => make('input', {type: 'range', id, min: 0, max: values.length - 1, value: Math.max(values.indexOf(value), 0)});
  const context = slider('context', contexts, found.context), batch = slider('batch', batches, found.batch);
  const shownContext = make('output', {htmlFor: 'context'}), shownBatch = make('output', {htmlFor: 'batch'});
  const dtypes = () => {
    const was = dtype.value, own = curves.filter((c) => c[0] === engine.value).map((c) => c[1]);
    dtype.replaceChildren(...own.map((d) => make('option', {value: d, textContent: d})));
    dtype.value = [was, found.dtype].find((d) => own.includes(d)) || own[0];
  };
  const sums = make('dl', {id: 'sums'}), fits = make('dl', {id: 'fits'});
  // As many units as pixels, so that text has its size on a phone too.
  let W = 1000;
  const H = 330, L = 66, T = 16, B = 34, narrow = () => W < 560, right = () => (narrow() ? 12 : 200);
  const svg = draw('svg', {class: 'curve', role: 'img'});
  // The step of 1, 2 or 5 times a power of ten (of bytes), or of a power of two (of tokens), that
  // gives the most ticks, up to as many.
  const decimal = (most, n) => {
    const power = 10 ** Math.floor(Math.log10(most / n));
    return power * ([1, 2, 5, 10].find((k) => power * k * n >= most) || 10);
  };
  const binary = (most, n) => 2 ** Math.ceil(Math.log2(most / n));
  const ticks = (from, to, step) => {
    const all = [];
    for (let i = Math.ceil(from / step); i * step <= to; i++) all.push(i * step);
    return all;
  };
  const parts = (curve, b, x) => [curve[4] === null ? null : BigInt(curve[4]), at(curve[2][b], x), at(curve[3][b], x)];
  const total = (p) => (p[0] === null ? null : p[0] + p[1] + p[2]);
  const row = (label, n) => make('div', {}, make('dt', {textContent: label}),
    make('dd', {}, n === null ? 'unknown' : make('b', {textContent: bytes(n)}), n === null ? '' : ` ${grouped(n)} bytes`));
  const paint = () => {
    const curve = curves.find((c) => c[0] === engine.value && c[1] === dtype.value);
    const tokens = contexts[context.value], b = +batch.value, many = batches[b];
    shownContext.textContent = `${grouped(tokens)} tokens`;
    context.setAttribute('aria-valuetext', `${grouped(tokens)} tokens`);
    shownBatch.textContent = many === 1 ? '1 sequence' : `${many} sequences`;
    batch.setAttribute('aria-valuetext', shownBatch.textContent);
    const here = parts(curve, b, tokens), sum = total(here);
    sums.replaceChildren(row('weights', here[0]), row('cache', here[1]), row('workspace, at most', here[2]), row('total', sum));
    fits.replaceChildren(...(sum === null ? [] : cards.map(([name, size]) => {
      const yes = sum <= BigInt(size);
      return make('div', {className: name === found.card ? 'asked' : ''}, make('dt', {textContent: `${name}, ${bytes(size)}`}),
        make('dd', {className: yes ? 'yes' : 'no', textContent: !yes ? 'does not fit' : / \u00d7 /.test(name) ? 'fits if split evenly' : 'fits'}));
    })));
    plot(curve, b, tokens, here);
  };
  const plot = (curve, b, tokens, here) => {
    const points = contexts.map((x) => [x, ...parts(curve, b, x).map((n) => Number(n ?? 0))]);
    const last = points[points.length - 1], sum = (p) => p[1] + p[2] + p[3];
    const above = cards.map((c) => c[1]).filter((size) => size >= sum(last)).sort((p, q) => p - q)[0];
    const named = (cards.find((c) => c[0] === found.card) || [0, 0])[1];
    const top = Math.max(Math.min(above || Infinity, sum(last) * 1.9), named) * 1.04 || 1, R = right();
    svg.setAttribute('viewBox', `0 0 ${W} ${H}`);
    const X = (x) => L + (x - contexts[0]) / (last[0] - contexts[0] || 1) * (W - L - R);
    const Y = (y) => H - B - y / top * (H - T - B);
    svg.replaceChildren();
    svg.setAttribute('aria-label', `Bytes by context: ${bytes(BigInt(Math.round(sum(points[0]))))} at ${grouped(contexts[0])} tokens, ${bytes(BigInt(Math.round(sum(last))))} at ${grouped(last[0])}`);
    const text = (x, y, s, anchor) => svg.append(draw('text', {x, y, 'text-anchor': anchor}, s));
    for (const y of ticks(0, top, decimal(top, 5))) {
      svg.append(draw('line', {class: 'grid', x1: L, x2: W - R, y1: Y(y), y2: Y(y)}));
      text(L - 8, Y(y) + 4, y ? bytes(y) : '0', 'end');
    }
    for (const x of ticks(contexts[0], last[0], binary(last[0], narrow() ? 3 : 6))) {
      text(X(x), H - 12, grouped(x), X(x) > W - R - 30 ? 'end' : 'middle');
    }
    let low = points.map((p) => [p[0], 0]);
    for (const [i, ink] of [[1, 'mlp'], [2, 'attention'], [3, 'norm']]) {
      const high = low.map(([x, y], j) => [x, y + points[j][i]]);
      const d = [...high, ...[...low].reverse()].map(([x, y], j) => `${j ? 'L' : 'M'}${X(x).toFixed(1)} ${Y(y).toFixed(1)}`).join('');
      svg.append(draw('path', {d: d + 'z', fill: `var(--${ink})`}));
      low = high;
    }
    let free = -99;
    for (const [name, size] of [...cards].sort((p, q) => p[1] - q[1])) {
      if (size > top) continue;
      svg.append(draw('line', {class: 'card', x1: L, x2: W - R, y1: Y(size), y2: Y(size)}));
      if (Math.abs(free - Y(size)) >= 14) {
        if (narrow()) text(W - R - 4, Y(size) - 3, name, 'end'); else text(W - R + 8, Y(size) + 4, `${name}, ${bytes(size)}`, 'start');
        free = Y(size);
      }
    }
    svg.append(draw('line', {class: 'here', x1: X(tokens), x2: X(tokens), y1: T - 8, y2: H - B}));
  };
  const field = (label, id, control, shown) => make('label', {htmlFor: id}, make('span', {}, label + ' ', shown || ''), control);
  host.append(
    make('div', {className: 'sliders'}, field('Context', 'context', context, shownContext), field('Batch', 'batch', batch, shownBatch),
      field('Dtype of the cache', 'dtype', dtype), field('Engine', 'engine', engine)),
    svg, make('ul', {className: 'legend'}, ...[['mlp', 'weights'], ['attention', 'cache'], ['norm', 'workspace, at most']].map(
      ([ink, name]) => make('li', {}, make('i', {className: `k c-${ink}`}), name))), make('div', {className: 'two'}, sums, fits));
  host.hidden = false;
  engine.onchange = () => { dtypes(); paint(); };
  dtype.onchange = context.oninput = batch.oninput = paint;
  const sized = () => { W = Math.max(svg.clientWidth, 280) || W; };
  let width = 0;
  new ResizeObserver(() => { if (svg.clientWidth !== width) { width = svg.clientWidth; sized(); paint(); } }).observe(svg);
  dtypes(); sized(); paint();
};

// ---- letters of formulas: pointing at one, or its button, marks its key and every place of it

const letters = () => {
  const buttons = [...document.querySelectorAll('.letter')];
  if (!buttons.length) return;
  const keys = new Map(buttons.map((b) => [b.textContent, [...b.closest('tr').querySelectorAll('[data-k]')].map((k) => k.dataset.k)]));
  let held = null, shown = null;
  const mark = (letter) => {
    if (letter === shown) return;
    shown = letter;
    for (const el of document.querySelectorAll('.on')) el.classList.remove('on');
    for (const b of buttons) b.setAttribute('aria-pressed', b.textContent === letter);
    if (!letter) return;
    const of = keys.get(letter) || [];
    for (const el of document.querySelectorAll('var,.letter')) if (el.textContent === letter) el.classList.add('on');
    for (const el of document.querySelectorAll('[data-k]')) if (el.dataset.k && of.includes(el.dataset.k)) el.classList.add('on');
  };
  const letterAt = (e) => { const el = e.target.closest && e.target.closest('var,.letter'); return el ? el.textContent : null; };
  document.addEventListener('pointerover', (e) => mark(letterAt(e) || held));
  document.addEventListener('focusin', (e) => mark(letterAt(e) || held));
  document.addEventListener('click', (e) => {
    const letter = letterAt(e);
    if (letter) { held = held === letter ? null : letter; mark(held); }
  });
  document.addEventListener('keydown', (e) => { if (e.key === 'Escape') { held = null; mark(null); } });
};

// ---- tables: filter, sort, copy as CSV

const tools = (table) => {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const plain = (cell) => { const text = cell.textContent.trim(); return /^[\d,]+$/.test(text) ? text.replace(/,/g, '') : text; };
  const said = make('span', {role: 'status', textContent: `${rows.length} rows`});
  const filter = make('input', {type: 'search', placeholder: 'name, dtype, shape'});
  filter.oninput = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every((w) => row.textContent.toLowerCase().includes(w));
    said.textContent = `${rows.filter((r) => !r.hidden).length} of ${rows.length} rows`;
  };
  heads.forEach((head) => {
    const button = make('button', {type: 'button', textContent: head.textContent});
    head.replaceChildren(button);
    button.onclick = () => {
      const down = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
      heads.forEach((h) => h.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', down > 0 ? 'ascending' : 'descending');
      const key = (row) => plain(row.cells[head.cellIndex]);
      rows.sort((a, b) => down * key(a).localeCompare(key(b), 'en', {numeric: true}));
      body.append(...rows);
    };
  });
  const copy = make('button', {type: 'button', textContent: 'Copy as CSV'});
  copy.onclick = () => copied([[...table.tHead.rows[0].cells].map((h) => quoted(h.textContent.trim())).join(','),
    ...rows.filter((r) => !r.hidden).map((r) => [...r.cells].map((c) => quoted(plain(c))).join(','))].join('\n'), copy);
  table.parentElement.before(make('div', {className: 'tool'}, make('label', {}, 'Filter ', filter), said, copy));
};

// ---- in a narrow window the number of a table stands next to its name

const numberFirst = () => {
  const narrow = matchMedia('(max-width:44rem)');
  for (const table of document.querySelectorAll('main table')) {
    if (!table.tHead) continue;
    const numbers = [...table.tHead.rows[0].cells].filter((head) => head.classList.contains('n'));
    const main = numbers.find((head) => /^parameters/.test(head.textContent)) || numbers[0];
    const home = main ? main.cellIndex : 0;
    if (home < 2) continue;
    const move = (from, to) => {
      for (const row of table.rows) {
        const cell = row.cells[from];
        row.insertBefore(cell, row.cells[to < from ? to : to + 1] || null);
      }
    };
    const settle = () => {
      const at = main.cellIndex, to = narrow.matches ? 1 : home;
      if (at !== to) move(at, to);
    };
    settle();
    narrow.addEventListener('change', settle);
  }
};

// ---- the page's own JSON

const machine = () => {
  const held = $('hfinspect'), shown = $('shown');
  if (!held) return;
  const text = () => JSON.stringify(JSON.parse(held.textContent), null, 1)
    .replace(/[\u007f-\uffff]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
  for (const button of document.querySelectorAll('#json button')) {
    button.parentElement.hidden = false;
    button.onclick = () => {
      if (button.dataset.do === 'copy') { copied(text(), button); return; }
      shown.hidden = !shown.hidden;
      shown.tabIndex = 0;
      shown.textContent = shown.hidden ? '' : text();
      button.textContent = shown.hidden ? 'Show' : 'Hide';
    };
  }
};

if (data.treemap) treemap(data.treemap);
if (data.memory) memory(data.memory);
letters();
document.querySelectorAll('table[data-tools]').forEach(tools);
numberFirst();
machine();
const open = () => document.querySelectorAll('details').forEach((d) => { d.open = true; });
addEventListener('beforeprint', open);
addEventListener('hashchange', () => {
  const target = document.querySelector(`${CSS.escape ? '#' + CSS.escape(location.hash.slice(1)) : location.hash} > details`);
  if (target) target.open = true;
});
