import { TextInput } from "@mantine/core";
import type { SandboxOffer } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { number } from "../../components/form.tsx";
import css from "./sandboxes.module.css";

interface Props {
  readonly offer: SandboxOffer;
  readonly lifetimeSecs: number;
  readonly idleSecs: number;
}

/** The fields for the times of a sandbox, in seconds like in the API. */
export function TimeFields({ offer, lifetimeSecs, idleSecs }: Props) {
  return (
    <div className={css.pair}>
      <TextInput
        label="Lifetime, in seconds"
        description="From its start to its end"
        name="lifetime"
        type="number"
        required
        min={offer.lifetimeSecs.least}
        max={offer.lifetimeSecs.most}
        defaultValue={lifetimeSecs}
      />
      <TextInput
        label="Idle time, in seconds"
        description="How long it lives without use"
        name="idle"
        type="number"
        required
        min={offer.idleSecs.least}
        max={offer.idleSecs.most}
        defaultValue={idleSecs}
      />
    </div>
  );
}

/** The values of the fields, which are required. */
export function timesIn(form: FormData) {
  return { lifetime_secs: number(form, "lifetime") ?? 0, idle_secs: number(form, "idle") ?? 0 };
}
