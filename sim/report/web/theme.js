'use strict';
// Light and dark, and the colours of charts. The palette is Okabe and Ito's, which people with any
// common colour blindness can tell apart; on dark ground blue and green are lighter.

const Theme = (() => {
  const light = {
    series: ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#8a7a00',
      '#5b5b5b'],
    blue: '#0072b2', orange: '#e69f00', green: '#009e73', red: '#d55e00', purple: '#cc79a7',
    sky: '#9fd0ee', gray: '#8c959f',
    text: '#1b1f24', muted: '#59636e', line: '#d8dee4', surface: '#ffffff', raised: '#ffffff',
    heat: ['#eaf3fa', '#9fcbe8', '#4d9fcf', '#0072b2', '#00415f'],
  };
  const dark = {
    series: ['#56b4e9', '#e69f00', '#35c39a', '#dd94bb', '#f0e442', '#e8743b', '#4a90d9',
      '#b8bfc8'],
    blue: '#56b4e9', orange: '#e69f00', green: '#35c39a', red: '#f07d3c', purple: '#dd94bb',
    sky: '#2f5d7c', gray: '#7d8794',
    text: '#e6e9ee', muted: '#a3adb9', line: '#30363f', surface: '#14171b', raised: '#22272e',
    heat: ['#17303f', '#1e5575', '#2f83b3', '#6cb8e8', '#cfe8f8'],
  };
  const listeners = [];
  const system = window.matchMedia('(prefers-color-scheme: dark)');
  let chosen = stored();   // '', 'light' or 'dark'
  let printing = false;

  // A page opened from a file may have no storage.
  function stored() {
    try {
      return localStorage.getItem('headroom-theme') || '';
    } catch {
      return '';
    }
  }

  function store(theme) {
    try {
      localStorage.setItem('headroom-theme', theme);
    } catch {
      // the choice then lasts as long as the page
    }
  }

  function isDark() {
    if (printing) return false;
    return chosen ? chosen === 'dark' : system.matches;
  }

  function colors() {
    return isDark() ? dark : light;
  }

  function apply() {
    document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
    const button = document.getElementById('theme');
    button.textContent = isDark() ? 'Light' : 'Dark';
    button.setAttribute('aria-label', `Switch to ${isDark() ? 'light' : 'dark'} colours`);
    for (const listener of listeners) listener();
  }

  function start() {
    document.getElementById('theme').addEventListener('click', () => {
      chosen = isDark() ? 'light' : 'dark';
      store(chosen);
      apply();
    });
    system.addEventListener('change', apply);
    const print = (on) => () => {
      printing = on;
      apply();
    };
    window.addEventListener('beforeprint', print(true));
    window.addEventListener('afterprint', print(false));
    apply();
  }

  return {start, colors, isDark, isPrinting: () => printing,
    onChange: (listener) => listeners.push(listener)};
})();
