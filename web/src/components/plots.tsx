/** Small SVG plots. Each has an accessible name with its numbers; hovering shows one point. */
import { useId, useLayoutEffect, useRef, useState, type ReactElement, type ReactNode } from "react";
import { formatNumber } from "@/lib/format";

export type BarPart = { readonly id: string; readonly label: string; readonly value: number; readonly tone: Tone };
export type Tone = "open" | "locked" | "needs_action" | "broken" | "missing" | "plot-1" | "plot-2" | "plot-3" | "plot-4" | "plot-5" | "plot-6";

/** Parts of a total side by side, with a legend. */
export function StackedBar({
  name,
  parts,
  total,
  legend = true,
  format = formatNumber,
}: {
  name: string;
  parts: readonly BarPart[];
  /** The total, if the parts do not fill it. */
  total?: number;
  legend?: boolean;
  format?: (value: number) => string;
}): ReactElement {
  const sum = parts.reduce((all, part) => all + part.value, 0);
  const width = Math.max(total ?? sum, sum, 1e-9);
  const description = parts.map((part) => `${part.label} ${format(part.value)}`).join(", ");
  return (
    <figure className="plot-bar">
      <div className="bar" role="img" aria-label={`${name}: ${description}`}>
        {parts.map((part) =>
          part.value > 0 ? (
            <span
              key={part.id}
              className={`bar-part fill-${part.tone}`}
              style={{ width: `${(part.value / width) * 100}%` }}
              title={`${part.label}: ${format(part.value)}`}
            />
          ) : null,
        )}
      </div>
      {legend && (
        <figcaption className="legend">
          {parts.map((part) => (
            <span key={part.id}>
              <i className={`fill-${part.tone}`} aria-hidden="true" />
              {part.label} <b>{format(part.value)}</b>
            </span>
          ))}
        </figcaption>
      )}
    </figure>
  );
}

/** A line without axes, as high as a line of text. */
export function Sparkline({ name, values, width = 96, height = 24 }: { name: string; values: readonly number[]; width?: number; height?: number }): ReactElement {
  const max = Math.max(...values, 1e-9);
  const step = values.length > 1 ? width / (values.length - 1) : width;
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${(height - 2 - (value / max) * (height - 4)).toFixed(1)}`);
  const description = values.length === 0 ? "nothing yet" : `last ${formatNumber(values.at(-1) ?? 0)}, most ${formatNumber(max)}`;
  return (
    <svg className="spark" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${name}: ${description}`}>
      {points.length > 1 && <polyline points={points.join(" ")} />}
    </svg>
  );
}

export type PlotSeries = { readonly id: string; readonly label: string; readonly tone: Tone; readonly values: readonly (number | null)[] };

const MARGIN_LEFT = 44;
const MARGIN_BOTTOM = 20;
const MARGIN_TOP = 8;

function useWidth(): readonly [React.RefObject<HTMLDivElement | null>, number] {
  const container = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = container.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    setWidth(element.clientWidth);
    return () => observer.disconnect();
  }, []);
  return [container, width];
}

/** The next round number: 1, 2 or 5 times a power of ten. */
export function roundUpAxis(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  for (const step of [1, 2, 5, 10]) if (value <= step * power) return step * power;
  return 10 * power;
}

type PlotProps = {
  readonly name: string;
  /** One label per bucket. */
  readonly labels: readonly string[];
  readonly format?: (value: number) => string;
  readonly height?: number;
};

function PlotFrame({
  name,
  labels,
  format = formatNumber,
  height = 160,
  max,
  legend,
  tooltip,
  draw,
}: PlotProps & {
  max: number;
  legend: ReactNode;
  tooltip: (labels: number) => ReactNode;
  draw: (x: (labels: number) => number, y: (value: number) => number, step: number) => ReactNode;
}): ReactElement {
  const [container, width] = useWidth();
  const [hovered, setHovered] = useState<number | null>(null);
  const top = roundUpAxis(max);
  const inner = Math.max(width - MARGIN_LEFT - 8, 1);
  const step = inner / Math.max(labels.length, 1);
  const x = (index: number): number => MARGIN_LEFT + step * (index + 0.5);
  const y = (value: number): number => MARGIN_TOP + (height - MARGIN_TOP - MARGIN_BOTTOM) * (1 - value / top);
  return (
    <figure className="plot">
      <figcaption className="row apart">
        <span className="plot-name">{name}</span>
        <span className="legend">{legend}</span>
      </figcaption>
      <div ref={container} className="plot-box" style={{ height }}>
        {width > 0 && (
          <svg
            width={width}
            height={height}
            role="img"
            aria-label={`${name}, ${labels.length} moments from ${labels[0] ?? "–"} to ${labels.at(-1) ?? "–"}, at most ${format(max)}`}
            onMouseLeave={() => setHovered(null)}
            onMouseMove={(event) => {
              const left = event.currentTarget.getBoundingClientRect().left;
              const bucket = Math.floor((event.clientX - left - MARGIN_LEFT) / step);
              setHovered(bucket >= 0 && bucket < labels.length ? bucket : null);
            }}
          >
            {[0, 0.5, 1].map((fraction) => (
              <g key={fraction}>
                <line className="plot-rule" x1={MARGIN_LEFT} x2={width - 8} y1={y(top * fraction)} y2={y(top * fraction)} />
                <text className="plot-tick" x={MARGIN_LEFT - 6} y={y(top * fraction) + 4} textAnchor="end">
                  {format(top * fraction)}
                </text>
              </g>
            ))}
            {[0, Math.floor((labels.length - 1) / 2), labels.length - 1]
              .filter((index, order, all) => index >= 0 && all.indexOf(index) === order)
              .map((index, order, all) => (
                <text
                  key={index}
                  className="plot-tick"
                  x={x(index)}
                  y={height - 4}
                  textAnchor={order === 0 && all.length > 1 ? "start" : order === all.length - 1 && all.length > 1 ? "end" : "middle"}
                >
                  {labels[index]}
                </text>
              ))}
            {draw(x, y, step)}
            {hovered !== null && <line className="plot-cursor" x1={x(hovered)} x2={x(hovered)} y1={MARGIN_TOP} y2={height - MARGIN_BOTTOM} />}
          </svg>
        )}
        {hovered !== null && (
          <div className={`plot-tooltip ${x(hovered) > width / 2 ? "is-left" : ""}`} style={{ left: x(hovered) }} aria-hidden="true">
            <b>{labels[hovered]}</b>
            {tooltip(hovered)}
          </div>
        )}
      </div>
    </figure>
  );
}

/** Lines over time; `band` fills between the first two. */
export function LinePlot({ series, band = false, ...plot }: PlotProps & { series: readonly PlotSeries[]; band?: boolean }): ReactElement {
  const format = plot.format ?? formatNumber;
  const max = Math.max(0, ...series.flatMap((each) => each.values.map((value) => value ?? 0)));
  return (
    <PlotFrame
      {...plot}
      max={max}
      legend={series.map((each) => (
        <span key={each.id}>
          <i className={`fill-${each.tone}`} aria-hidden="true" />
          {each.label}
        </span>
      ))}
      tooltip={(index) =>
        series.map((each) => (
          <span key={each.id}>
            {each.label} {each.values[index] == null ? "–" : format(each.values[index])}
          </span>
        ))
      }
      draw={(x, y) => (
        <>
          {band && series.length > 1 && <path className="plot-band" d={bandPath(series[0] as PlotSeries, series[1] as PlotSeries, x, y)} />}
          {series.map((each) => (
            <path key={each.id} className={`plot-line line-${each.tone}`} d={linePath(each.values, x, y)} />
          ))}
          {series.map((each) =>
            isolatedPoints(each.values).map(([index, value]) => (
              <circle key={`${each.id} ${index}`} className={`fill-${each.tone}`} cx={x(index)} cy={y(value)} r={3} />
            )),
          )}
        </>
      )}
    />
  );
}

function linePath(values: PlotSeries["values"], x: (index: number) => number, y: (value: number) => number): string {
  let pen = "M";
  let path = "";
  values.forEach((value, index) => {
    if (value === null) {
      pen = "M";
      return;
    }
    path += `${pen}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = "L";
  });
  return path;
}

/** Values without a neighbour: no line goes through them, so they are drawn as dots. */
export function isolatedPoints(values: PlotSeries["values"]): readonly (readonly [number, number])[] {
  return values.flatMap((value, index) => {
    const isIsolated = value !== null && (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null;
    return isIsolated ? [[index, value] as const] : [];
  });
}

function bandPath(low: PlotSeries, high: PlotSeries, x: (index: number) => number, y: (value: number) => number): string {
  const points = high.values.map((value, index) => [value, low.values[index] ?? null, index] as const).filter(([up, down]) => up !== null && down !== null);
  if (points.length < 2) return "";
  const above = points.map(([up, , index]) => `${x(index).toFixed(1)} ${y(up ?? 0).toFixed(1)}`);
  const below = points.map(([, down, index]) => `${x(index).toFixed(1)} ${y(down ?? 0).toFixed(1)}`).reverse();
  return `M${above.join("L")}L${below.join("L")}Z`;
}

/** Stacked columns over time. */
export function ColumnPlot({ series, ...plot }: PlotProps & { series: readonly PlotSeries[] }): ReactElement {
  const id = useId();
  const format = plot.format ?? formatNumber;
  const sums = plot.labels.map((_, index) => series.reduce((all, each) => all + (each.values[index] ?? 0), 0));
  return (
    <PlotFrame
      {...plot}
      max={Math.max(0, ...sums)}
      legend={series.map((each) => (
        <span key={each.id}>
          <i className={`fill-${each.tone}`} aria-hidden="true" />
          {each.label}
        </span>
      ))}
      tooltip={(index) =>
        series.map((each) => (
          <span key={each.id}>
            {each.label} {format(each.values[index] ?? 0)}
          </span>
        ))
      }
      draw={(x, y, step) =>
        plot.labels.map((_, index) => {
          let sum = 0;
          return series.map((each) => {
            const value = each.values[index] ?? 0;
            if (value <= 0) return null;
            const from = y(sum);
            sum += value;
            const columnWidth = Math.max(3, Math.min(step - 2, 28));
            return (
              <rect
                key={`${id}${each.id}${index}`}
                className={`fill-${each.tone}`}
                x={x(index) - columnWidth / 2}
                width={columnWidth}
                y={y(sum)}
                height={Math.max(from - y(sum), 0.5)}
              />
            );
          });
        })
      }
    />
  );
}
