import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { threadId } from "node:worker_threads";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

import { build, context, transform } from "esbuild";
import type { BuildContext, BuildOptions, Metafile, OutputFile, Plugin } from "esbuild";

/**
 * Builds the page: `src/web/` becomes `dist/page/`, an `index.html` and assets with content hashes
 * in their names, each with a brotli and a gzip form.
 */

const ROOT = join(import.meta.dirname, "..");
const SOURCE = join(ROOT, "src/web");
const MAIN = join(SOURCE, "main.tsx");
const TARGET = join(ROOT, "dist/page");

/**
 * Directive by which V8 compiles all functions of a script while it loads, off the main thread.
 * Otherwise each would be compiled on the main thread at its first call.
 */
const COMPILE_AT_ONCE = Buffer.from("//# allFunctionsCalledOnLoad\n");
/** Placeholders in `index.html` for the main script, the style sheet and other assets. */
const PLACEHOLDERS = { script: "main.js", style: "page.css", icon: "icon.svg", preload: "<!-- preload -->" };

/**
 * Turns a style sheet that a script imports into a module that adopts it, so that it loads with the
 * screen that needs it. The content security policy allows it, because nothing is inline.
 */
const ADOPTED_SHEETS: Plugin = {
  name: "adopted-sheets",
  setup(plugin) {
    plugin.onResolve({ filter: /\.css$/ }, ({ kind, path, resolveDir }) =>
      kind === "import-statement"
        ? { path: join(resolveDir, path), namespace: "adopted-sheet", sideEffects: true }
        : null,
    );
    plugin.onLoad({ filter: /.*/, namespace: "adopted-sheet" }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, "utf8"), { loader: "css", minify: true });
      const contents = `const sheet = new CSSStyleSheet();
sheet.replaceSync(${JSON.stringify(code.trim())});
document.adoptedStyleSheets.push(sheet);`;
      return { contents, loader: "js" };
    });
  },
};

/**
 * Adds an import of the main module to every lazily loaded module. Everything that a first visit
 * loads then becomes one chunk; esbuild would otherwise create one for each set of screens that
 * share a module.
 */
function oneFirstChunk(lazy: ReadonlySet<string>): Plugin {
  return {
    name: "one-first-chunk",
    setup(plugin) {
      plugin.onLoad({ filter: /[.]tsx?$/ }, ({ path }) => {
        if (!lazy.has(path)) return null;
        const loader = path.endsWith(".tsx") ? "tsx" : "ts";
        return { contents: `import ${JSON.stringify(MAIN)};\n${readFileSync(path, "utf8")}`, loader };
      });
    },
  };
}

/** Returns the modules that are loaded by dynamic imports. */
async function findLazyModules(options: BuildOptions): Promise<ReadonlySet<string>> {
  const { metafile } = await build({ ...options, plugins: [ADOPTED_SHEETS], metafile: true, write: false });
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
  const paths = imports.filter(({ kind }) => kind === "dynamic-import").map(({ path }) => join(ROOT, path));
  return new Set(paths);
}

function buildOptions(target: string): BuildOptions {
  return {
    absWorkingDir: ROOT,
    entryPoints: { main: MAIN, page: join(SOURCE, "page.css"), icon: join(SOURCE, "icon.svg") },
    loader: { ".svg": "copy" },
    outdir: join(target, "assets"),
    entryNames: "[name].[hash]",
    chunkNames: "[name].[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    target: ["es2024"],
    jsx: "automatic",
    jsxImportSource: "preact",
    tsconfig: join(SOURCE, "tsconfig.json"),
    legalComments: "none",
  };
}

/** @returns the gzipped size in bytes of each file that a first visit loads */
export async function buildPage(target = TARGET): Promise<ReadonlyMap<string, number>> {
  const options = { ...buildOptions(target), minify: true };
  const { metafile, outputFiles } = await build({
    ...options,
    plugins: [ADOPTED_SHEETS, oneFirstChunk(await findLazyModules(options))],
    metafile: true,
    write: false,
  });
  const names = namesOf(metafile);
  const first = [names.script, names.style, ...names.preloads];
  const compiled = outputFiles.map(({ path, contents }) => {
    const isFirst = path.endsWith(".js") && first.some((name) => path.endsWith(name));
    return { path, contents: isFirst ? Buffer.concat([COMPILE_AT_ONCE, contents]) : contents };
  });
  writePage(target, names, compiled, writeCompressed);
  return new Map(first.map((path) => [path, gzipSync(readFileSync(join(target, path)), { level: 9 }).length]));
}

/**
 * Builds the page into `target`, and again after each change of a source, without minifying or
 * compressing it.
 * @param script runs in the page before its own
 */
export async function watchPage(target: string, script: string): Promise<BuildContext> {
  const writing: Plugin = {
    name: "write-page",
    setup(plugin) {
      plugin.onLoad({ filter: /main\.tsx$/ }, ({ path }) => {
        const contents = `${path === MAIN ? script : ""}\n${readFileSync(path, "utf8")}`;
        return { contents, loader: "tsx", watchFiles: [path, join(SOURCE, "index.html")] };
      });
      plugin.onEnd(({ metafile, outputFiles, errors }) => {
        // esbuild has reported the errors.
        if (errors.length === 0) writePage(target, namesOf(metafile!), outputFiles!, writeWhole);
      });
    },
  };
  const watched = await context({
    ...buildOptions(target),
    sourcemap: "inline",
    plugins: [ADOPTED_SHEETS, writing],
    metafile: true,
    write: false,
    logLevel: "warning",
  });
  await watched.watch();
  return watched;
}

/** Writes the built files, and last the HTML that names them. */
function writePage(
  target: string,
  names: ReturnType<typeof namesOf>,
  files: readonly Pick<OutputFile, "path" | "contents">[],
  write: (path: string, contents: Uint8Array) => void,
): void {
  const html = readFileSync(join(SOURCE, "index.html"), "utf8")
    .replace(PLACEHOLDERS.script, names.script)
    .replace(PLACEHOLDERS.style, names.style)
    .replace(PLACEHOLDERS.icon, names.icon)
    .replace(
      PLACEHOLDERS.preload,
      names.preloads.map((path) => `<link rel="modulepreload" href="/${path}">`).join("\n"),
    );
  mkdirSync(join(target, "assets"), { recursive: true });
  for (const { path, contents } of files) write(path, contents);
  write(join(target, "index.html"), Buffer.from(html));
  removeOthers(join(target, "assets"), new Set(files.map(({ path }) => basename(path))));
}

/** Returns the paths of the main script, its static chunks, the style sheet and the icon. */
function namesOf({ outputs }: Metafile): { script: string; style: string; icon: string; preloads: string[] } {
  const named = (entry: string) => {
    const found = Object.entries(outputs).find(([, output]) => output.entryPoint === entry);
    if (found === undefined) throw new Error(`esbuild produced no output for ${entry}`);
    return found;
  };
  const [script, main] = named("src/web/main.tsx");
  const [style] = named("src/web/page.css");
  const [icon] = named("src/web/icon.svg");
  const preloads = new Set<string>();
  const collect = (imports: Metafile["outputs"][string]["imports"]) => {
    for (const { path, kind } of imports) {
      if (kind !== "import-statement" || preloads.has(path)) continue;
      preloads.add(path);
      collect(outputs[path]?.imports ?? []);
    }
  };
  collect(main.imports);
  const served = (path: string) => path.slice(path.indexOf("assets/"));
  return { script: served(script), style: served(style), icon: served(icon), preloads: [...preloads].map(served) };
}

function writeCompressed(path: string, contents: Uint8Array): void {
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
  writeWhole(`${path}.br`, brotliCompressSync(contents, quality));
  writeWhole(`${path}.gz`, gzipSync(contents, { level: 9 }));
  writeWhole(path, contents);
}

/** Writes a file atomically, so that other builds and starting services never read half a file. */
function writeWhole(path: string, contents: Uint8Array): void {
  const temporary = `${path}.${process.pid}.${threadId}.part`;
  writeFileSync(temporary, contents);
  renameSync(temporary, path);
}

/** Removes the assets of earlier builds. */
function removeOthers(folder: string, names: ReadonlySet<string>): void {
  for (const name of readdirSync(folder)) {
    if (!names.has(name.replace(/\.(?:br|gz)$/, "")) && !name.endsWith(".part"))
      rmSync(join(folder, name), { force: true });
  }
}

/** Builds the page if a source is newer, as `make page` does. */
export async function buildPageIfStale(): Promise<void> {
  const built = statSync(join(TARGET, "index.html"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const isNewer = (path: string): boolean => statSync(path).mtimeMs > built;
  const sources = ["web", "query", "events"].flatMap((folder) => {
    const path = join(ROOT, "src", folder);
    return readdirSync(path, { recursive: true, encoding: "utf8" }).map((name) => join(path, name));
  });
  if ([import.meta.filename, ...sources].some(isNewer)) await buildPage();
}

async function buildAndReport(): Promise<void> {
  const sizes = await buildPage();
  const total = sizes.values().reduce((sum, size) => sum + size, 0);
  console.log(`dist/page: a first visit loads ${(total / 1024).toFixed(1)} KB, gzipped, in ${sizes.size} files`);
}

if (import.meta.main) await buildAndReport();
