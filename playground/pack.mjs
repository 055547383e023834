// Writes the page to a folder: its files, the report's that it shares, and the data as scripts.
//   node playground/pack.mjs ROOT BUILT FOLDER
// ROOT: the repository. BUILT: where core.js and core.wasm are.

import {copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {constants, gzipSync} from 'node:zlib';

const [root, built, folder] = process.argv.slice(2);
const SHARED = ['format.js', 'theme.js', 'table.js', 'figure.js', 'run_charts.js', 'run_page.js',
  'report.css', 'vendor/echarts.min.js'];
const NOT_COPIED = ['worker.js'];  // part of the core's script

mkdirSync(join(folder, 'data'), {recursive: true});

function pack(name, bytes) {
  const packed = gzipSync(bytes, {level: constants.Z_BEST_COMPRESSION}).toString('base64');
  writeFileSync(join(folder, 'data', `${name}.js`), `Packed.put('${name}', '${packed}');\n`);
}

const page = join(root, 'playground/page');
for (const file of readdirSync(page)) {
  if (!NOT_COPIED.includes(file)) copyFileSync(join(page, file), join(folder, file));
}
for (const file of SHARED) {
  copyFileSync(join(root, 'sim/report/web', file), join(folder, file.split('/').pop()));
}
for (const file of ['LICENSE', 'LICENSE-d3', 'NOTICE']) {
  copyFileSync(join(root, 'sim/report/web/vendor', file), join(folder, `echarts-${file}`));
}
copyFileSync(join(root, 'hardware/catalog/kernels/NOTICE'), join(folder, 'NOTICE-kernel-times'));

pack('core.wasm', readFileSync(join(built, 'core.wasm')));
pack('core.script', Buffer.concat([readFileSync(join(built, 'core.js')),
  readFileSync(join(page, 'worker.js'))]));

// Each section of the kernel times is a file; of each system all first lines are known at once.
const kernels = join(root, 'hardware/catalog/kernels');
const stubs = {};
for (const file of readdirSync(kernels).filter((name) => name.endsWith('.txt')).sort()) {
  const [facts, ...sections] = readFileSync(join(kernels, file), 'utf8').split(/^(?=class )/m);
  stubs[file] = facts;
  for (const section of sections) {
    const line = section.slice(0, section.indexOf('\n') + 1);
    const [, kind, engine] = line.trim().split(' ');
    stubs[file] += line;
    pack(`${file.replace(/\.txt$/, '')}.${kind}.${engine}`, section);
  }
}
pack('kernels', JSON.stringify(stubs));
