import { Icon } from "../../components/icon.tsx";
import css from "./sandboxes.module.css";

/** Says that the service has no sandboxes, and how to get them. */
export function SandboxesOff() {
  return (
    <p className={css.off}>
      <Icon name="alert" />
      <span>
        Sandboxes are off on this service. Its operator can switch them on with the setting <code>ASSAY_SANDBOXES</code>{" "}
        (<a href="/docs/sandboxes">documentation</a>).
      </span>
    </p>
  );
}
