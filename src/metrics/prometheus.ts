import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { LabelsOf, Meter, NameOf } from "../domain/meter.ts";
import { METRICS, type Metric } from "../domain/metrics.ts";

/** The most values of a label that come up while the process runs. Further values count as `other`. */
const MAX_OPEN_VALUES = 256;
const OTHER = "other";

/** The resolution of the event loop's delay. The default of 10 ms would wake an idle process a hundred times per second. */
const LOOP_RESOLUTION_MS = 50;

/** Gauges of the library whose names have the suffix of counters. The gauges without `_total` have the same values by type. */
const MISNAMED = ["nodejs_active_resources_total", "nodejs_active_handles_total", "nodejs_active_requests_total"];

type Labels = Readonly<Record<string, string>>;

/** Collects the metrics of this process in the Prometheus format. No other file uses the library prom-client. */
export class Prometheus implements Meter {
  readonly contentType: string;
  readonly #registry = new Registry();
  readonly #counters = new Map<string, Counter>();
  readonly #gauges = new Map<string, Gauge>();
  readonly #histograms = new Map<string, Histogram>();
  readonly #open = new Map<string, Set<string>>();

  /** @param languages the names of all languages. The counters with this label start at 0 for each of them. */
  constructor(languages: readonly string[]) {
    this.contentType = this.#registry.contentType;
    this.#open.set("language", new Set(languages));
    for (const [key, metric] of Object.entries<Metric>(METRICS)) this.#register(key, metric);
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: LOOP_RESOLUTION_MS });
    for (const name of MISNAMED) this.#registry.removeSingleMetric(name);
  }

  count<Name extends NameOf<"counter">>(name: Name, labels: LabelsOf<Name>, by = 1): void {
    this.#counters.get(name)?.inc(this.#bounded(name, labels), by);
  }

  time<Name extends NameOf<"histogram">>(name: Name, labels: LabelsOf<Name>, seconds: number): void {
    this.#histograms.get(name)?.observe(this.#bounded(name, labels), Math.max(seconds, 0)); // a clock may step back
  }

  set<Name extends NameOf<"gauge">>(name: Name, labels: LabelsOf<Name>, value: number): void {
    this.#gauges.get(name)?.set(this.#bounded(name, labels), value);
  }

  /** Removes the values of a gauge, so that it is absent from the metrics. */
  forget(name: NameOf<"gauge">): void {
    const gauge = this.#gauges.get(name);
    gauge?.reset();
    if (Object.keys(METRICS[name].labels).length === 0) gauge?.remove(); // reset sets a gauge without labels to 0
  }

  /** The metrics in the Prometheus text format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #register(key: string, metric: Metric): void {
    const labelNames = Object.keys(metric.labels);
    const common = { name: metric.name, help: metric.help, labelNames, registers: [this.#registry] };
    if (metric.kind === "histogram") {
      this.#histograms.set(key, new Histogram({ ...common, buckets: [...(metric.buckets ?? [])] }));
    } else if (metric.kind === "gauge") {
      this.#gauges.set(key, new Gauge(common));
      this.forget(key as NameOf<"gauge">);
    } else {
      const counter = new Counter(common);
      this.#counters.set(key, counter);
      // If a counter first appeared with the value 1, Prometheus would see no increase.
      for (const labels of this.#combinations(metric)) counter.inc(labels, 0);
    }
  }

  #combinations({ labels }: Metric): Labels[] {
    return Object.entries(labels).reduce<Labels[]>(
      (made, [label, values]) =>
        made.flatMap((one) =>
          [...(values ?? this.#open.get(label) ?? [])].map((value) => ({ ...one, [label]: value })),
        ),
      [{}],
    );
  }

  /** Bounds the values of the labels that METRICS does not list, such as languages and routes. */
  #bounded(name: NameOf<Metric["kind"]>, labels: object): Labels {
    const { labels: listed }: Metric = METRICS[name];
    const bounded: Record<string, string> = {};
    for (const label in labels) {
      const value = (labels as Labels)[label] as string;
      if (listed[label]) {
        bounded[label] = value;
        continue;
      }
      const known = this.#open.get(label) ?? new Set();
      if (known.size === 0) this.#open.set(label, known);
      if (!known.has(value) && known.size < MAX_OPEN_VALUES) known.add(value);
      bounded[label] = known.has(value) ? value : OTHER;
    }
    return bounded;
  }
}
