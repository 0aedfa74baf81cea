// The entry: theme first, so that nothing flashes; then the frame.
import { render } from "preact";
import "./style/base.css";
import "./style/frame.css";
import "./theme.ts";
import { App } from "./app.tsx";

render(<App />, document.getElementById("app")!);
