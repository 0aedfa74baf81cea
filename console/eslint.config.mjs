// eslint.config.mjs - what `make lint` asks of the console's TypeScript and of its browser tests,
// beside what tsc asks. Run from the project's root. How code looks is prettier's affair.
import js from "@eslint/js";
import tseslint from "typescript-eslint";

const node = ["process", "Buffer"];
// Functions that tests hand to page.evaluate run in the browser.
const browser = ["window", "document", "location", "localStorage", "navigator", "WebSocket"];
const both = [
  "console",
  "URL",
  "URLSearchParams",
  "fetch",
  "performance",
  "setTimeout",
  "clearTimeout",
];
const drawn = [
  "getComputedStyle",
  "CanvasRenderingContext2D",
  "requestAnimationFrame",
  "innerHeight",
];
const pasted = ["ClipboardEvent", "DataTransfer"];
const known = ["AbortController", ...node, ...browser, ...both, ...drawn, ...pasted];

export default tseslint.config(
  js.configs.recommended,
  {
    files: ["**/*.mjs"],
    languageOptions: { globals: Object.fromEntries(known.map((name) => [name, "readonly"])) },
  },
  { files: ["console/test/**/*.ts"], extends: [tseslint.configs.recommended] },
  {
    files: ["console/src/**/*.ts", "console/src/**/*.tsx"],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
      // Functions of props are handed on by themselves: declared so, `this` is never meant.
      "@typescript-eslint/method-signature-style": "error",
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true },
      ],
      // Escape sequences are what src/logs/ansi.ts is about.
      "no-control-regex": "off",
    },
  },
);
