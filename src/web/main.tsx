import { render } from "preact";

import { faultMessage } from "./parts/api/client.ts";
import { createApp } from "./state/app.ts";
import { createInitialLoad } from "./shell/initial-load.ts";
import { Page } from "./shell/page.tsx";

const root = document.getElementById("app");
if (root === null) throw new Error("index.html has no element app");
root.replaceChildren();
const app = createApp(window);
const initialLoad = createInitialLoad(app);
initialLoad.begin();
// Failures are reported where they occur. This catches the rest; the console shows them too.
addEventListener("unhandledrejection", ({ reason }) => app.toaster.show(`Something failed: ${faultMessage(reason)}`));
render(<Page app={app} initialLoad={initialLoad} />, root);
