/** Where the page begins. */

import "./styles/tokens.css";
import "./styles/base.css";

import { render } from "preact";

const root = document.getElementById("app");
if (root) {
  render(<p>acpd</p>, root);
}
