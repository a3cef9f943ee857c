import { readFileSync } from "node:fs";
import { type Config, ConfigError } from "../config.ts";
import type { ProviderSettings } from "../http/dashboard/provider.ts";

/** The settings of the OpenID Connect provider; null if none is configured. @throws ConfigError if a file cannot be read. */
export function providerOf({ oidc }: Pick<Config, "oidc">): ProviderSettings | null {
  if (!oidc) return null;
  const { issuer, clientId, clientSecret: given, caPath } = oidc;
  const clientSecret = "text" in given ? given.text : read("ASSAY_OIDC_CLIENT_SECRET_FILE", given.path).trim();
  return { issuer, clientId, clientSecret, ca: caPath === null ? null : read("ASSAY_OIDC_CA", caPath) };
}

function read(setting: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new ConfigError(`${setting}: ${(error as Error).message}`);
  }
}
