import { markReachable, markUnreachable } from "./connection.ts";

/** A stream that sends no event for this time has lost its connection: the service sends an event at least every 15 seconds. */
const SILENCE_MS = 40_000;
/** A browser does not open a rejected stream again. This module does, after this pause, which doubles with each rejection. */
const AGAIN_MS = 5_000;
const MOST_AGAIN_MS = 60_000;

interface Following {
  /** Returns the address of the stream; called at each start. */
  readonly url: () => string;
  /**
   * @param isFirst Whether the event is the first of its stream. Changes between the previous stream and this one are not
   * reported.
   */
  readonly onEvent: (event: string, data: string, isFirst: boolean) => void;
  /** Called when the service or a proxy rejects the stream, so that the caller can send requests instead. */
  readonly onRejected: () => void;
}

const EVENTS = ["state", "alive"] as const;

/**
 * Follows a stream of the service while the page is visible. Streams of hidden pages would use up the connections that a browser
 * opens to one host. @returns a function that ends the stream.
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
 * Opens the stream of one run or judgement whenever the page becomes visible, and closes it when the page is hidden. Such a stream
 * begins with the present state, so nothing is missed. @returns a function that ends the stream.
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
