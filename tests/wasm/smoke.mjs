// Runs the core as a WebAssembly module: `node smoke.mjs MODULE.wasm`.
import { readFileSync } from "node:fs";

const module = new WebAssembly.Module(readFileSync(process.argv[2]));
const imports = WebAssembly.Module.imports(module);
if (imports.length > 0) {
  throw new Error(`the core asks for something around it: ${JSON.stringify(imports)}`);
}
const { exports } = new WebAssembly.Instance(module);
const sessions = 1000;
const home = exports.sessions_that_came_home(sessions);
if (home !== sessions) {
  throw new Error(`${home} of ${sessions} sessions came home`);
}
console.log(`wasm: no imports, ${home} of ${sessions} sessions came home`);
