/**
 * A signal that aborts after `ms`, or as soon as one of `signals` does. Its timer does not keep the process alive.
 *
 * Do not pass an AbortSignal.timeout() to AbortSignal.any() instead: Node can collect the timeout as garbage while the signal of any()
 * is still in use. That signal then never aborts. Here, the timer keeps a reference to its signal.
 */
export function abortAfter(ms: number, ...signals: readonly AbortSignal[]): AbortSignal {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new DOMException("The time is over", "TimeoutError")), ms);
  timer.unref();
  const signal = AbortSignal.any([late.signal, ...signals]);
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  return signal;
}
