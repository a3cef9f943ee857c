import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** The claims of a provider about a person, and its faults. */
export interface Says {
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Response of the userinfo endpoint; absent: the endpoint does not exist. */
  readonly userinfo?: Readonly<Record<string, unknown>>;
  /** Signs with an unpublished key. */
  readonly forged?: boolean;
  readonly header?: Readonly<Record<string, unknown>>;
  /** `iss` of the authorization response. */
  readonly iss?: string;
}

export interface Issuer {
  readonly url: string;
  says: Says;
  /** Authorization requests received, newest last. */
  readonly asked: URLSearchParams[];
  /** Acts as the provider's page: signs a person in and returns the redirect URL. */
  readonly authorize: (url: string) => string;
}

const CLIENT = { id: "assay", secret: "the client's secret" };

/** A small OpenID Connect provider over real HTTPS, with its own keys. It checks code, PKCE and client secret. */
export async function startIssuer(t: TestContext, certificate: { certPath: string; keyPath: string }): Promise<Issuer> {
  const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const others = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const codes = new Map<string, URLSearchParams>();
  const issuer: Issuer & { says: Says } = { url: "", says: {}, asked: [], authorize };

  function authorize(url: string): string {
    const asked = new URL(url).searchParams;
    issuer.asked.push(asked);
    const code = `code-${issuer.asked.length}`;
    codes.set(code, asked);
    const back = new URL(asked.get("redirect_uri") ?? "");
    back.search = new URLSearchParams({
      code,
      state: asked.get("state") ?? "",
      iss: issuer.says.iss ?? issuer.url,
    }).toString();
    return back.href;
  }

  function idToken(asked: URLSearchParams): string {
    const { claims, forged, header } = issuer.says;
    const now = Math.floor(Date.now() / 1000);
    const own = {
      iss: issuer.url,
      aud: CLIENT.id,
      sub: "subject-1",
      iat: now,
      exp: now + 60,
      nonce: asked.get("nonce"),
    };
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const signed = `${part({ alg: "ES256", kid: "k", ...header })}.${part({ ...own, ...claims })}`;
    const key = { key: forged ? others.privateKey : keys.privateKey, dsaEncoding: "ieee-p1363" } as const;
    return `${signed}.${sign("sha256", Buffer.from(signed), key).toString("base64url")}`;
  }

  function token(authorization: string, form: URLSearchParams): [number, unknown] {
    const basic = [CLIENT.id, CLIENT.secret].map((text) =>
      encodeURIComponent(text).replaceAll("%20", "+").replaceAll("'", "%27"),
    );
    if (authorization !== `Basic ${btoa(basic.join(":"))}`) return [401, { error: "invalid_client" }];
    const asked = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const sound = asked?.get("code_challenge") === challenge && asked.get("redirect_uri") === form.get("redirect_uri");
    if (!asked || !sound || asked.get("code_challenge_method") !== "S256") return [400, { error: "invalid_grant" }];
    return [200, { access_token: "access", token_type: "Bearer", expires_in: 60, id_token: idToken(asked) }];
  }

  function answer(path: string, authorization: string, body: string): [number, unknown] {
    if (path === "/.well-known/openid-configuration") return [200, metadata()];
    if (path === "/keys")
      return [200, { keys: [{ ...keys.publicKey.export({ format: "jwk" }), kid: "k", alg: "ES256", use: "sig" }] }];
    if (path === "/token") return token(authorization, new URLSearchParams(body));
    if (path === "/userinfo" && authorization === "Bearer access") return [200, issuer.says.userinfo];
    return [404, {}];
  }

  function metadata() {
    const { url } = issuer;
    return {
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      userinfo_endpoint: `${url}/userinfo`,
      jwks_uri: `${url}/keys`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["ES256"],
      authorization_response_iss_parameter_supported: true,
    };
  }

  const server: Server = createServer(
    { cert: readFileSync(certificate.certPath), key: readFileSync(certificate.keyPath) },
    async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { url = "", headers } = request;
      const [status, body] = answer(url, headers.authorization ?? "", Buffer.concat(chunks).toString());
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  Object.assign(issuer, { url: `https://localhost:${(server.address() as AddressInfo).port}` });
  return issuer;
}

/** The provider settings of the service. */
export function settingsOf({ url }: Issuer, ca: string) {
  return { issuer: url, clientId: CLIENT.id, clientSecret: CLIENT.secret, ca };
}
