import { render } from "preact";

import { createApp } from "./app.ts";
import { Page } from "./shell/page.tsx";

const root = document.getElementById("app");
if (root === null) throw new Error("index.html has no element app");
root.replaceChildren();
render(<Page app={createApp(window)} />, root);
