'use strict';
// A figure: title, one sentence, chart, and the table behind it. Charts are drawn again when the
// width or the colours change.

const Chart = (() => {
  // What all charts share; `option` is laid over it.
  function option(ctx, own) {
    const {colors} = ctx;
    return {
      animation: false,
      textStyle: {fontFamily: getComputedStyle(document.body).fontFamily, color: colors.text},
      ...own,
      grid: own.grid || grid(ctx),
      tooltip: {confine: true, backgroundColor: colors.raised, borderColor: colors.line,
        borderWidth: 1, padding: [6, 9], transitionDuration: 0, textStyle: {color: colors.text},
        extraCssText: 'box-shadow: 0 1px 6px rgb(0 0 0 / 15%); border-radius: 5px;',
        axisPointer: {lineStyle: {color: colors.muted, type: 'solid', width: 1},
          crossStyle: {color: colors.muted}, shadowStyle: {color: colors.line, opacity: .4}},
        ...own.tooltip},
    };
  }

  function grid(ctx, own = {}) {
    return {left: 4, right: ctx.narrow ? 8 : 16, top: 30, bottom: 26, outerBoundsMode: 'same',
      outerBoundsContain: 'axisLabel', ...own};
  }

  function axis(ctx, own) {
    const {colors} = ctx;
    return {
      ...own,
      nameTextStyle: {color: colors.muted, fontSize: 12, ...own.nameTextStyle},
      axisLine: {show: false, lineStyle: {color: colors.line}, ...own.axisLine},
      axisTick: {show: false},
      minorTick: {show: false},
      splitLine: {lineStyle: {color: colors.line, width: 1, opacity: .7}, ...own.splitLine},
      axisLabel: {color: colors.muted, fontSize: 12, hideOverlap: true, ...own.axisLabel},
    };
  }

  // The name of a vertical axis stands above it, that of a horizontal one below its middle.
  function yAxis(ctx, name, own = {}) {
    return axis(ctx, {type: 'value', name, nameLocation: 'end', nameGap: 12, ...own,
      nameTextStyle: {align: 'left', padding: [0, 0, 0, -4], ...own.nameTextStyle},
      axisLabel: {formatter: Format.tick, ...own.axisLabel}});
  }

  function xAxis(ctx, name, own = {}) {
    return axis(ctx, {type: 'value', name, nameLocation: 'middle', nameGap: 24, ...own,
      axisLine: {show: true, lineStyle: {color: ctx.colors.line}},
      splitLine: {show: false, ...own.splitLine},
      axisLabel: {formatter: Format.tick, ...own.axisLabel}});
  }

  // Seconds on the horizontal axis, in the unit that suits them; `scaled(s)` is a place on it.
  function timeAxis(ctx, endSeconds, own = {}) {
    const unit = Format.timeUnit(endSeconds);
    const most = endSeconds / unit.seconds;
    return {unit, scaled: (s) => s / unit.seconds,
      axis: xAxis(ctx, `simulated time (${unit.name})`, {min: 0, max: most,
        axisLabel: {showMaxLabel: false}, ...own})};
  }

  function line(name, data, color, own = {}) {
    return {type: 'line', name, data, symbol: 'none', color, lineStyle: {width: 1.75, color},
      emphasis: {disabled: true}, ...own};
  }

  // `text` at the end of a line, where there is room for it; else there is a legend.
  function endLabel(ctx, color, text) {
    return ctx.narrow ? {} : {endLabel: {show: true, formatter: () => text, color, fontSize: 12,
      distance: 6}, labelLayout: {moveOverlap: 'shiftY'}};
  }

  function legend(ctx, names, own = {}) {
    return {show: names.length > 1, data: names, top: 0, right: 0, itemWidth: 14, itemHeight: 8,
      itemGap: 12, icon: 'roundRect', type: 'scroll', inactiveColor: ctx.colors.line,
      pageIconColor: ctx.colors.muted, pageTextStyle: {color: ctx.colors.muted},
      textStyle: {color: ctx.colors.text, fontSize: 12}, ...own};
  }

  // A tooltip: a title over rows of {color, label, value}.
  function tip(title, rows) {
    return element('div', {class: 'tip'}, element('b', {}, title), element('table', {},
      ...rows.map((row) => {
        const mark = row.color ? element('span', {class: 'swatch'}) : null;
        if (mark) mark.style.background = row.color;
        return element('tr', {}, element('td', {}, mark, row.label),
          element('td', {}, row.value));
      })));
  }

  return {option, grid, xAxis, yAxis, timeAxis, line, endLabel, legend, tip};
})();

const Figures = (() => {
  const NARROW = 560;
  const all = [];

  // spec: title, note, height, option(ctx), label() (what a screen reader says), table() ->
  // {columns, rows}, controls (an element), wide.
  function add(parent, spec) {
    const chart = element('div', {class: 'chart', role: 'img'});
    const note = element('p', {}, spec.note || '');
    const heading = element('h3', {}, spec.title);
    const folded = spec.table ? Table.folded('Data table', () => {
      const {columns, rows} = figure.spec.table();
      return Table.create(columns, rows, {name: figure.spec.title});
    }) : null;
    const node = element('figure', {class: spec.wide ? 'wide' : null},
      element('figcaption', {}, heading, note), spec.controls || null, chart, folded);
    parent.append(node);
    const figure = {spec, node, chart, heading, note, folded, instance: null, width: 0};
    all.push(figure);
    draw(figure);
    new ResizeObserver(() => {
      if (Math.abs(chart.clientWidth - figure.width) > 1 && !Theme.isPrinting()) draw(figure);
    }).observe(chart);
    return {update: () => update(figure), replace: (other) => replace(figure, other), node, heading,
      note};
  }

  // The figure shows another spec, without controls, from now on.
  function replace(figure, spec) {
    figure.spec = spec;
    figure.heading.textContent = spec.title;
    figure.note.textContent = spec.note || '';
    update(figure);
  }

  function draw(figure) {
    const {spec, chart} = figure;
    // On paper: the width of a page's text, whatever the window was.
    const inGrid = figure.node.parentElement.classList.contains('grid') && !spec.wide;
    const width = Theme.isPrinting() ? (inGrid ? 340 : 700) : chart.clientWidth;
    if (width === 0) return;
    const ctx = {colors: Theme.colors(), width, narrow: width < NARROW};
    const height = typeof spec.height === 'function' ? spec.height(ctx) : spec.height || 300;
    chart.style.height = `${height}px`;
    if (!figure.instance) {
      figure.instance = echarts.init(chart, null, {renderer: 'svg', width, height});
    } else {
      figure.instance.resize({width, height});
    }
    figure.width = chart.clientWidth;
    figure.instance.setOption(spec.option(ctx), {notMerge: true});
    chart.setAttribute('aria-label', spec.label ? spec.label() : spec.title);
  }

  // After a choice changed: the chart, and the table if it was opened.
  function update(figure) {
    draw(figure);
    if (!figure.folded) return;
    const open = figure.folded.open;
    while (figure.folded.childElementCount > 1) figure.folded.lastChild.remove();
    figure.folded.open = false;
    if (open) figure.folded.open = true;
  }

  function redraw() {
    for (const figure of all) draw(figure);
  }

  // [{title, svg}...] of the charts that are on the page, in its order.
  function pictures() {
    return all.filter(({chart}) => chart.isConnected && chart.clientWidth > 0)
      .map(({spec, chart}) => ({title: spec.title, svg: chart.querySelector('svg')}));
  }

  return {add, redraw, pictures};
})();
