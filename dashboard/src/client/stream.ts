import { markReachable, markUnreachable } from "./connection.ts";

/** The service sends something at least every 15 seconds. */
const SILENCE_MS = 40_000;
/** A rejected stream is not repeated by the browser. The pause doubles with each rejection. */
const AGAIN_MS = 5_000;
const MOST_AGAIN_MS = 60_000;

interface Following {
  /** Returns the address of the stream; called at each start. */
  readonly url: () => string;
  /** @param isFirst whether the event is the first of its stream: changes since an earlier stream may be missing. */
  readonly onEvent: (event: string, data: string, isFirst: boolean) => void;
  /** The service or a proxy rejects streams: the caller asks in another way. */
  readonly onRejected: () => void;
}

const EVENTS = ["state", "alive"] as const;

/**
 * A stream of the service for as long as the page is visible: hidden pages would use up the connections that a browser opens to
 * one host. @returns a function that ends it.
 */
export function followStream({ url, onEvent, onRejected }: Following): () => void {
  let source: EventSource | null = null;
  let silence: ReturnType<typeof setTimeout>;
  let again: ReturnType<typeof setTimeout>;
  let pauseMs = AGAIN_MS;
  const stop = () => {
    source?.close();
    source = null;
    clearTimeout(silence);
    clearTimeout(again);
  };
  const start = () => {
    stop();
    if (document.visibilityState === "hidden") return;
    const opened = new EventSource(url());
    source = opened;
    let isFirst = true;
    const isAlive = () => {
      markReachable();
      clearTimeout(silence);
      silence = setTimeout(() => {
        markUnreachable();
        start();
      }, SILENCE_MS);
    };
    opened.onopen = () => {
      isFirst = true;
      pauseMs = AGAIN_MS;
      isAlive();
    };
    opened.onerror = () => {
      clearTimeout(silence);
      if (opened.readyState !== EventSource.CLOSED) return markUnreachable(); // the browser tries again
      onRejected();
      again = setTimeout(start, pauseMs);
      pauseMs = Math.min(pauseMs * 2, MOST_AGAIN_MS);
    };
    for (const event of EVENTS)
      opened.addEventListener(event, ({ data }: MessageEvent<string>) => {
        isAlive();
        onEvent(event, data, isFirst);
        isFirst = false;
      });
  };
  start();
  document.addEventListener("visibilitychange", start);
  return () => {
    document.removeEventListener("visibilitychange", start);
    stop();
  };
}

/**
 * The stream of one run or judgement, also only while the page is visible. It begins with all that was sent before.
 * @returns a function that ends it.
 */
export function streamWhileVisible(open: () => EventSource): () => void {
  let source: EventSource | null = null;
  const turn = () => {
    source?.close();
    source = document.visibilityState === "hidden" ? null : open();
  };
  turn();
  document.addEventListener("visibilitychange", turn);
  return () => {
    document.removeEventListener("visibilitychange", turn);
    source?.close();
  };
}
