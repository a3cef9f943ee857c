import type { Command } from "commander";
import { AdminError } from "../admin/error.ts";
import type { Config } from "../config.ts";
import type { KeyRing } from "../domain/sealer.ts";
import type { SecretCursor } from "../store/deliveries/types.ts";
import type { Store } from "../store/store.ts";
import { addKey, forgetOldKeys } from "../webhooks/key-file.ts";
import { answer } from "./answer.ts";
import { provenSealerOf } from "./webhook-settings.ts";
import { ACTOR, commandOnStore, type StoreOptions, withStore } from "./with-store.ts";

interface ResealOptions {
  readonly newKey?: true;
  readonly forgetOld?: true;
  readonly oneMachine?: true;
}

export interface Resealed {
  readonly secrets: number;
  readonly resealed: number;
  readonly forgotten: number;
}

/** `assay webhooks reseal`: seals stored secrets with the newest key of the key file, while services run. */
export function resealVerb(webhooks: Command): void {
  commandOnStore(
    webhooks,
    "reseal",
    "Encrypt every stored secret again with the first key of the key file, in small batches, while services run. Repeat the command if it is interrupted. For several machines, follow docs/operations.md.",
  )
    .option("--new-key", "first insert a new key at the front of the key file")
    .option("--forget-old", "then remove the other keys, unless a secret still needs one")
    .option("--one-machine", "required with --new-key and PostgreSQL: confirms that all services use this key file")
    .action((options: StoreOptions & ResealOptions) =>
      withStore(options, async (store, config) => {
        const done = await reseal(store, config, options);
        const { secrets, resealed, forgotten } = done;
        const rest = options.forgetOld ? `; ${forgotten} old keys removed` : "";
        answer(options.json, done, () => `${resealed} of ${secrets} secrets sealed again${rest}`);
      }),
    );
}

/**
 * @param maxPerPart default 500.
 * @throws SecretKeyError when the key file cannot be used or does not open every secret; nothing was changed then.
 */
export async function reseal(
  store: Store,
  config: Pick<Config, "secretKey" | "database">,
  { newKey, forgetOld, oneMachine }: ResealOptions,
  maxPerPart?: number,
): Promise<Resealed> {
  const { path } = config.secretKey;
  if (newKey && config.database.kind === "postgres" && !oneMachine) {
    // A service with another copy of the file would meet secrets that it cannot open.
    throw new AdminError(
      "services on other machines have key files of their own: follow docs/operations.md, or pass --one-machine if there are none",
    );
  }
  const sealer = await provenSealerOf(store, { secretKey: { path, make: false } });
  if (newKey) addKey(path);
  let secrets = 0;
  let resealed = 0;
  for (let after: SecretCursor | undefined; ; ) {
    const part = await store.secrets.reseal(sealer.renew, ACTOR, after, maxPerPart);
    secrets += part.looked;
    resealed += part.resealed;
    if (part.next === null) break;
    after = part.next;
  }
  return { secrets, resealed, forgotten: forgetOld ? await forget(store, sealer, path) : 0 };
}

/** No secret can be stored between the proof and the removal. @returns how many keys were removed. */
function forget(store: Store, sealer: KeyRing, path: string): Promise<number> {
  const newest = sealer.newest();
  const prove = (endpointId: string, sealed: Buffer) => {
    if (sealer.renew(endpointId, sealed) === null) return;
    throw new AdminError(
      `the secret of endpoint ${endpointId} is sealed with an old key, which stays: repeat the command when every machine has the new key in front`,
    );
  };
  return store.secrets.proven(prove, () => forgetOldKeys(path, newest));
}
