import { rootCertificates } from "node:tls";
import * as oidc from "openid-client";
import { Agent, fetch } from "undici";
import { emailOf, nameOr } from "../../admin/people.ts";
import { isStorable } from "../api/storable.ts";

export interface ProviderSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** A certificate authority that is trusted for the provider, in addition to those of Node; null: only those of Node. */
  readonly ca: string | null;
}

/** Values with which a response of the provider is verified. Only the browser that was redirected keeps them, in a cookie. */
export interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** A person's identity, verified by the provider. */
export interface VerifiedIdentity {
  readonly subject: string;
  readonly email: string;
  readonly name: string;
}

const ANSWER_SECONDS = 10;

/**
 * An OpenID Connect provider. It is used by the code flow with PKCE, state and nonce, and the signature of every ID token is verified.
 * The provider's configuration is fetched at the first sign-in, so the service starts even if the provider does not respond.
 */
export class Provider {
  readonly name: string;
  readonly #settings: ProviderSettings;
  #configuration: Promise<oidc.Configuration> | undefined;

  constructor(settings: ProviderSettings) {
    this.#settings = settings;
    this.name = new URL(settings.issuer).host;
  }

  /** The URL to which the browser is redirected, and the values that it keeps. @throws if the provider does not respond. */
  async begin(redirectUri: string): Promise<{ readonly url: URL; readonly pending: PendingSignIn }> {
    const pending = { state: oidc.randomState(), nonce: oidc.randomNonce(), verifier: oidc.randomPKCECodeVerifier() };
    const url = oidc.buildAuthorizationUrl(await this.#known(), {
      redirect_uri: redirectUri,
      scope: "openid email profile",
      code_challenge: await oidc.calculatePKCECodeChallenge(pending.verifier),
      code_challenge_method: "S256",
      state: pending.state,
      nonce: pending.nonce,
    });
    return { url, pending };
  }

  /**
   * @param callbackUrl the URL with which the browser returned.
   * @returns undefined if the provider states no verified e-mail address, or an id that the database cannot store.
   * @throws if the response is not for this browser, or is not valid.
   */
  async finish(callbackUrl: URL, { state, nonce, verifier }: PendingSignIn): Promise<VerifiedIdentity | undefined> {
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
    const configuration = await this.#known();
    const tokens = await oidc.authorizationCodeGrant(configuration, callbackUrl, checks);
    const claims = tokens.claims();
    if (!claims) return undefined;
    // Some providers state the e-mail address in the token, others only in the user info.
    const { email, email_verified, name } =
      claims.email === undefined ? await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub) : claims;
    if (email_verified !== true || typeof email !== "string") return undefined;
    const subject = `${claims.iss} ${claims.sub}`;
    if (!isStorable(subject)) return undefined;
    return { subject, email: emailOf(email), name: nameOr(name, email) };
  }

  #known(): Promise<oidc.Configuration> {
    this.#configuration ??= this.#discover().catch((error: unknown) => {
      this.#configuration = undefined; // otherwise one failure would be permanent
      throw error;
    });
    return this.#configuration;
  }

  #discover(): Promise<oidc.Configuration> {
    const { issuer, clientId, clientSecret, ca } = this.#settings;
    return oidc.discovery(new URL(issuer), clientId, undefined, oidc.ClientSecretBasic(clientSecret), {
      timeout: ANSWER_SECONDS,
      execute: [oidc.enableNonRepudiationChecks],
      ...(ca !== null && { [oidc.customFetch]: fetchTrusting(ca) }),
    });
  }
}

/** Node's own `fetch` has no option for a certificate authority. */
function fetchTrusting(ca: string): oidc.CustomFetch {
  const dispatcher = new Agent({ connect: { ca: [...rootCertificates, ca] } });
  return (url, options) => fetch(url, { ...options, dispatcher } as never) as unknown as Promise<Response>;
}
