// Prints what netron's own parser sees in a DLC, as JSON. usage: node netron_check.mjs NETRON_FOLDER FILE
import fs from 'fs';
import path from 'path';
import { pathToFileURL } from 'url';

const [folder, file] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.join(folder, name)));
const { BinaryStream } = await load('base.js');
const { Archive } = await load('zip.js');
const { ModelFactory } = await load('dlc.js');
const schema = await load('dlc-schema.js');
const stream = new BinaryStream(new Uint8Array(fs.readFileSync(file)));
const entries = Archive.open(stream).entries;
const context = {
  stream,
  peek: async () => entries,
  set: (type, value) => (context.value = value),
  require: async () => schema,
  metadata: async () => ({ type: (name) => ({ name }), attribute: () => null }),
};
const factory = new ModelFactory();
await factory.match(context);
const model = await factory.open(context);
const names = (values) => values.flatMap((one) => one.value.map((value) => value.name));
const nodes = model.modules.flatMap((graph) => [...graph.nodes].map((node) => ({
  name: node.name,
  type: node.type.name,
  inputs: names(node.inputs),
  outputs: names(node.outputs),
})));
console.log(JSON.stringify(nodes));
