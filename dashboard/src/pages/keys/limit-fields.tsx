import { Checkbox, NativeSelect, TextInput } from "@mantine/core";
import type { KeyLimits, KeyResource } from "../../../../src/http/dashboard/api/keys.ts";
import { number, text } from "../../components/form.tsx";
import css from "./limit-fields.module.css";

const PROFILES = ["judge", "agent"];

/** The fields for the limits of a key. Their default values are the present limits of `of`, if it is given. */
export function LimitFields({ of: apiKey }: { of?: KeyResource }) {
  const profiles = apiKey?.profiles ?? ["judge"];
  return (
    <>
      <div className={css.pair}>
        <TextInput
          label="Requests in 60 seconds"
          name="requests"
          type="number"
          min={1}
          defaultValue={apiKey?.requestsPerMinute ?? ""}
          placeholder="as the tier"
        />
        <TextInput
          label="Running at once"
          name="concurrency"
          type="number"
          min={1}
          defaultValue={apiKey?.concurrency ?? ""}
          placeholder="as the tier"
        />
      </div>
      <Checkbox.Group label="Allowed profiles" defaultValue={[...profiles]}>
        <div className={css.row}>
          {PROFILES.map((name) => (
            <Checkbox key={name} name="profiles" value={name} label={name} />
          ))}
        </div>
      </Checkbox.Group>
      <NativeSelect
        label="Default profile"
        name="profile"
        defaultValue={apiKey?.defaultProfile ?? "judge"}
        data={PROFILES}
      />
    </>
  );
}

export function limitsIn(form: FormData): KeyLimits {
  return {
    requestsPerMinute: number(form, "requests"),
    concurrency: number(form, "concurrency"),
    profiles: form.getAll("profiles").map(String),
    defaultProfile: text(form, "profile"),
  };
}
