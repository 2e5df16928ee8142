import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";

import { StartError } from "../src/errors.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"];
const MACOS_PATHS = [
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/**
 * Disabled features. The first two load hundreds of files of the address bar for each window. The
 * others are those that Playwright disables itself, repeated because only the last list counts.
 */
const FEATURES_OFF = [
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  "AimEnabled",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable",
  "HttpsUpgrades",
  "LensOverlay",
  "MediaRouter",
  "NetworkTimeServiceQuerying",
  "OptimizationHints",
  "PaintHolding",
  "PreconnectToSearch",
  "ThirdPartyStoragePartitioning",
];

export type ChromiumPlaces = {
  /** Environment with CHROMIUM and PATH. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly paths: readonly string[];
  /** Installs Debian's package; null if that is not possible. */
  readonly install: (() => Promise<void>) | null;
};

const DEFAULT_PLACES: ChromiumPlaces = {
  env: process.env,
  paths: MACOS_PATHS,
  install: process.getuid?.() === 0 && process.platform === "linux" ? installOnDebian : null,
};

/** Starts the browser of {@link findChromium}. @throws StartError that says what to install */
export async function launchChromium(): Promise<Browser> {
  const args = ["--no-sandbox", "--disable-dev-shm-usage", `--disable-features=${FEATURES_OFF.join(",")}`];
  return chromium.launch({ executablePath: await findChromium(), args });
}

/**
 * Finds the browser for page tests and screenshots: the one that CHROMIUM names, otherwise the
 * first on the PATH. As root on Debian, it is installed if it is missing.
 * @throws StartError that says what to install
 */
export async function findChromium(places: ChromiumPlaces = DEFAULT_PLACES): Promise<string> {
  const chosen = places.env["CHROMIUM"];
  if (chosen) {
    if (await isExecutable(chosen)) return chosen;
    throw new StartError(`CHROMIUM is ${chosen}, which cannot be run`);
  }
  const found = await search(places);
  if (found !== null) return found;
  let reason = "";
  if (places.install !== null) {
    try {
      await places.install();
    } catch (error) {
      reason = ` (apt-get install chromium failed: ${error instanceof Error ? error.message : String(error)})`;
    }
    const installed = await search(places);
    if (installed !== null) return installed;
  }
  throw new StartError(
    `The tests of the page need Chromium, and none was found${reason}: install it (Debian: apt-get install chromium; ` +
      "macOS: brew install --cask chromium) or point CHROMIUM at its executable.",
  );
}

async function search({ env, paths }: ChromiumPlaces): Promise<string | null> {
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const candidates = [...folders.flatMap((folder) => NAMES.map((name) => join(folder, name))), ...paths];
  for (const path of candidates) if (await isExecutable(path)) return path;
  return null;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Installs Chromium. Test files that start at the same time wait for dpkg's lock. */
async function installOnDebian(): Promise<void> {
  const run = promisify(execFile);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const wait = ["-o", "DPkg::Lock::Timeout=600", "-qq"];
  await run("apt-get", [...wait, "update"], { env });
  await run("apt-get", [...wait, "install", "--yes", "--no-install-recommends", "chromium"], { env });
}
