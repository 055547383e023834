'use strict';
// Elements, and tables that can be sorted, searched and copied. Text of results goes into the page
// as text only, never as HTML.

// element('td', {class: 'number'}, 'text', child...)
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'onclick' || name === 'oninput' || name === 'onchange' || name === 'ontoggle') {
      node.addEventListener(name.slice(2), value);
    } else {
      node.setAttribute(name, value === true ? '' : value);
    }
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const Clipboard = (() => {
  // Browsers refuse navigator.clipboard to some pages opened from files.
  async function write(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = element('textarea', {class: 'visually-hidden', 'aria-hidden': 'true'});
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand('copy');
      area.remove();
      return done;
    }
  }

  // A button that copies what `text()` returns and says so.
  function button(label, text) {
    const node = element('button', {type: 'button'}, label);
    node.addEventListener('click', async () => {
      const done = await write(text());
      node.textContent = done ? 'Copied' : 'Not copied';
      setTimeout(() => { node.textContent = label; }, 1500);
    });
    return node;
  }

  return {button};
})();

const Table = (() => {
  const FIRST_ROWS = 100;

  function cellText(column, value, row) {
    if (column.format) return column.format(value, row);
    if (value === null || value === undefined) return '–';
    return typeof value === 'number' ? Format.number(value) : String(value);
  }

  function compare(a, b) {
    const missing = (value) => value === null || value === undefined;
    if (missing(a) || missing(b)) return missing(a) - missing(b);
    if (typeof a === 'number' && typeof b === 'number') return a - b;
    return String(a).localeCompare(String(b), 'en', {numeric: true});
  }

  function sorted(rows, sort) {
    if (!sort) return rows;
    const sign = sort.descending ? -1 : 1;
    const missing = (row) => row[sort.column] === null || row[sort.column] === undefined;
    return [...rows].sort((a, b) => {
      if (missing(a) || missing(b)) return missing(a) - missing(b);   // always last
      return sign * compare(a[sort.column], b[sort.column]);
    });
  }

  function csv(columns, rows) {
    const field = (value) => {
      const text = value === null || value === undefined ? ''
        : typeof value === 'object' ? JSON.stringify(value) : String(value);
      return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    const names = columns.map((column) => field(column.csv || column.name));
    const lines = rows.map((row) => columns.map((column, i) => field(row[i])).join(','));
    return [names.join(','), ...lines].join('\n') + '\n';
  }

  function headCell(column, at, state, redraw) {
    const order = state.sort && state.sort.column === at
      ? (state.sort.descending ? 'descending' : 'ascending') : null;
    const sort = () => {
      const again = state.sort && state.sort.column === at;
      state.sort = {column: at, descending: again ? !state.sort.descending : !!column.number};
      redraw();
    };
    const unit = column.unit ? element('span', {class: 'unit'}, ` ${column.unit}`) : null;
    return element('th', {scope: 'col', class: column.number ? 'number' : null,
      'aria-sort': order}, element('button', {type: 'button', onclick: sort}, column.name), unit);
  }

  function bodyCell(column, value, row) {
    const kind = [column.number ? 'number' : column.code ? 'code' : 'text',
      column.isWide ? 'wide-text' : '', column.mark ? column.mark(value, row) : '']
      .filter(Boolean).join(' ');
    return element('td', {class: kind}, cellText(column, value, row));
  }

  // columns: {name, unit, number, code, format(value, row), mark(value, row), csv, isWide}; rows:
  // arrays of raw values. options: name, search, rowClass(row), sort {column, descending}.
  function create(columns, rows, options = {}) {
    const state = {sort: options.sort || null, all: rows.length <= FIRST_ROWS * 1.5, word: ''};
    const count = element('span', {class: 'count'});
    const body = element('div', {class: 'scroll', tabindex: '0', role: 'region',
      'aria-label': options.name || 'Table'});
    // Said while columns lie behind the right edge: a phone shows no scroll bar.
    const wider = element('span', {class: 'wider', 'aria-hidden': 'true'}, 'more columns →');
    const look = () => {
      wider.hidden = body.scrollLeft + body.clientWidth >= body.scrollWidth - 1;
    };
    body.addEventListener('scroll', look, {passive: true});
    new ResizeObserver(look).observe(body);
    const more = element('button', {type: 'button', onclick: () => {
      state.all = true;
      redraw();
    }}, 'Show all rows');
    const matching = () => {
      if (!state.word) return rows;
      return rows.filter((row) => row.some((value, i) => cellText(columns[i], value, row)
        .toLowerCase().includes(state.word)));
    };

    function redraw() {
      const found = sorted(matching(), state.sort);
      const shown = state.all ? found : found.slice(0, FIRST_ROWS);
      const head = element('tr', {},
        ...columns.map((column, i) => headCell(column, i, state, redraw)));
      const lines = shown.map((row) => element('tr',
        {class: options.rowClass ? options.rowClass(row) : null},
        ...columns.map((column, i) => bodyCell(column, row[i], row))));
      body.replaceChildren(element('table', {}, element('thead', {}, head),
        element('tbody', {}, ...lines)));
      count.textContent = shown.length < found.length
        ? `${Format.integer(shown.length)} of ${Format.integer(found.length)} rows`
        : `${Format.integer(found.length)} row${found.length === 1 ? '' : 's'}`;
      more.hidden = shown.length === found.length;
      look();
    }

    const search = options.search ? element('input', {type: 'search', placeholder: 'Filter',
      'aria-label': `Filter ${options.name || 'the table'}`, oninput: (event) => {
        state.word = event.target.value.trim().toLowerCase();
        redraw();
      }}) : null;
    const name = options.name ? element('span', {class: 'name'}, options.name) : null;
    redraw();
    return element('div', {class: 'table-box'},
      element('div', {class: 'table-bar'}, name, count, wider, search, more,
        Clipboard.button('Copy CSV', () => csv(columns, sorted(matching(), state.sort)))),
      body);
  }

  // A table that is built when it is opened.
  function folded(label, build) {
    const box = element('details', {}, element('summary', {}, label));
    box.addEventListener('toggle', () => {
      if (box.open && box.childElementCount === 1) box.append(build());
    });
    return box;
  }

  return {create, folded};
})();
