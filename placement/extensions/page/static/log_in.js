/** The form for a token, or for the user and password that keystone gives one for. */

import { element, show } from "./dom.js";
import { failure } from "./links.js";
import { logIn } from "./session.js";

/**
 * Return the form.
 * @param {{auth: string, keystone: string|null}} known how callers are known here
 * @param {string|undefined} said why it is asked for
 * @param {function(string): void} use takes the token
 */
export function logInForm(known, said, use) {
  const problem = element("div", {}, said && failure({ message: said }));
  return element(
    "section",
    { class: "log-in" },
    element("h1", {}, "Who is asking?"),
    problem,
    known.keystone && passwordForm(known.keystone, problem, use),
    tokenForm(known, problem, use),
    element(
      "p",
      { class: "quiet" },
      "The token stays in the memory of this page. It ends when you reload or close the page.",
    ),
  );
}

function tokenForm(known, problem, use) {
  const token = field("Token", { type: "password", autocomplete: "off", required: true });
  return element(
    "form",
    {
      submit: (event) => {
        event.preventDefault();
        const given = token.input.value.trim();
        // a header can't have other characters
        if (/^[\x20-\x7e]+$/.test(given)) use(given);
        else show(problem, failure({ message: "This is no token: it is empty, or has letters that no token has." }));
      },
    },
    element("h2", {}, known.keystone ? "Or paste a token" : "Paste a token"),
    element(
      "p",
      { class: "quiet" },
      known.auth === "noauth2" ? "This service checks no tokens: " : "",
      element("code", {}, known.auth === "noauth2" ? "admin" : "openstack token issue -f value -c id"),
      known.auth === "noauth2" ? " is enough." : " prints one.",
    ),
    token.node,
    element("button", { class: "go" }, "Use this token"),
  );
}

function passwordForm(keystone, problem, use) {
  const user = field("User", { autocomplete: "username", required: true });
  const password = field("Password", { type: "password", autocomplete: "current-password", required: true });
  const userDomain = field("Domain of the user", { value: "Default", required: true });
  const project = field("Project", { value: "admin", required: true });
  const projectDomain = field("Domain of the project", { value: "Default", required: true });
  const go = element("button", { class: "go" }, "Log in");
  const submit = async (event) => {
    event.preventDefault();
    go.disabled = true;
    show(problem);
    try {
      use(
        await logIn(keystone, {
          user: user.input.value,
          userDomain: userDomain.input.value,
          password: password.input.value,
          project: project.input.value,
          projectDomain: projectDomain.input.value,
        }),
      );
    } catch (error) {
      show(problem, failure(error));
    } finally {
      go.disabled = false;
    }
  };
  return element(
    "form",
    { submit },
    element("h2", {}, "Log in"),
    element("p", { class: "quiet" }, "The password goes to keystone at ", element("code", {}, keystone), " only."),
    [user, password, userDomain, project, projectDomain].map(({ node }) => node),
    go,
  );
}

/** Return a labelled input: `{node, input}`. */
function field(label, properties) {
  const input = element("input", { spellcheck: "false", ...properties });
  return { input, node: element("label", { class: "field" }, element("span", {}, label), input) };
}
