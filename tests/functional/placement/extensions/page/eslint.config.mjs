// How the page's modules are checked: `tox -e lint`. It imports nothing, so it may stand here.
const BROWSER = [
  "document", "window", "location", "history", "fetch", "URL", "URLSearchParams", "Node", "Event",
  "EventTarget", "AbortController", "AbortSignal", "TextDecoder", "ResizeObserver", "navigator", "performance",
  "setTimeout", "clearTimeout", "matchMedia", "getComputedStyle", "getSelection", "devicePixelRatio",
  "addEventListener", "scrollTo",
];

export default [
  {
    files: ["**/*.js", "**/*.mjs"],
    languageOptions: {
      ecmaVersion: 2023,
      sourceType: "module",
      globals: Object.fromEntries(BROWSER.map((name) => [name, "readonly"])),
    },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error",
      "consistent-return": ["error", { treatUndefinedAsUnspecified: true }],
      "eqeqeq": "error",
      "no-cond-assign": "error",
      "no-const-assign": "error",
      "no-constant-condition": ["error", { checkLoops: false }],
      "no-dupe-class-members": "error",
      "no-dupe-keys": "error",
      "no-empty": "error",
      "no-eval": "error",
      "no-fallthrough": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-redeclare": "error",
      "no-self-assign": "error",
      "no-shadow": "error",
      "no-undef": "error",
      "no-unreachable": "error",
      "no-unused-vars": "error",
      "no-use-before-define": ["error", { functions: false, variables: false, classes: false }],
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "prefer-template": "error",
      // names of providers are texts: what makes markup of texts has no place here
      "no-restricted-properties": [
        "error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML", "setHTMLUnsafe"].map((property) => ({ property })),
        { object: "document", property: "write" },
        { property: "localStorage" },
        { property: "sessionStorage" },
      ],
      "no-restricted-globals": ["error", "localStorage", "sessionStorage", "event", "name", "status"],
      "complexity": ["error", 14],
      "max-lines": ["error", 400],
    },
  },
];
