'use strict';
// What would help most: the program's `ask`, on request, since it takes some dozens of runs.

const Advice = (() => {
  function table(title, changes, unit) {
    if (!changes.length) return null;
    return Table.create([{name: 'Change', code: true}, {name: 'Cost'},
      {name: 'Largest load', unit, number: true}, {name: 'This load'}],
    changes.map((one) => [`${one.option}=${JSON.stringify(one.to)}`, one.cost_text,
      one.largest_load, one.holds ? 'holds' : 'does not hold']), {name: title});
  }

  function answerOf(name, answer) {
    const unit = answer.load.kind === 'rate' ? 'requests/s' : 'users';
    const largest = answer.largest_load?.largest;
    const most = largest
      ? ` The largest load that holds is ${Format.number(largest)} ${unit}.` : '';
    return [element('p', {}, name ? element('strong', {}, `${name}: `) : null,
      `${answer.reason}.${most}`),
    table('On the same devices', answer.changes, unit),
    table('With more or other devices', answer.hardware, unit)].filter(Boolean);
  }

  // `asks()`: [{name, request}...], one for each side.
  function show(place, asks) {
    const results = element('div', {'aria-live': 'polite'});
    const button = element('button', {type: 'button', 'data-name': 'advice', onclick: async () => {
      button.disabled = true;
      results.replaceChildren(element('p', {class: 'note'}, 'Trying changes …'));
      try {
        const found = [];
        for (const {name, request} of await asks()) {
          const answer = JSON.parse((await Simulator.call(request, {priority: 3})).json);
          found.push(...answerOf(name, answer));
        }
        results.replaceChildren(...found);
      } catch (error) {
        results.replaceChildren(
          RunPage.alert('No advice', [error.sentence || error.message], true));
      }
      button.disabled = false;
    }}, 'What would help?');
    place.replaceChildren(button, results);
  }

  return {show};
})();
