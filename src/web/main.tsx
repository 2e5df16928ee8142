import { render } from "preact";

import { createApp } from "./app.ts";
import { createOpening } from "./shell/opening.ts";
import { Page } from "./shell/page.tsx";

const root = document.getElementById("app");
if (root === null) throw new Error("index.html has no element app");
root.replaceChildren();
const app = createApp(window);
const opening = createOpening(app);
opening.begin();
render(<Page app={app} opening={opening} />, root);
