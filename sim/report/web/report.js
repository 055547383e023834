'use strict';
// Reads the data of the page and shows the kind of results it has.

(() => {
  const page = JSON.parse(document.getElementById('data').textContent);
  const main = document.getElementById('main');
  Theme.start();
  const kinds = {run: RunPage, comparison: ComparisonPage, study: StudyPage, plan: PlanPage,
    accuracy: AccuracyPage, twin: TwinPage};
  kinds[page.kind].show(main, page);
  Theme.onChange(Figures.redraw);
  document.getElementById('footer').append(
    element('p', {}, `Written by headroom ${page.headroom_version}. Simulated, not measured; ` +
      `charts by Apache ECharts ${echarts.version} (Apache License 2.0). Percentiles are ` +
      'numpy\'s, names of metrics those of vllm bench serve.'));
  document.documentElement.dataset.ready = 'yes';
})();
