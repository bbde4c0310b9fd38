"use strict";
// Draws every <figure data-picture> from the JSON beside it. Shapes are described in pictures.py and series.py.
(() => {
  const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const DIGIT = new Uint8Array(128);
  for (let i = 0; i < ALPHABET.length; i++) DIGIT[ALPHABET.charCodeAt(i)] = i;
  const GAP = 0, ZERO = 1, LEAST = 2, MOST = ALPHABET.length ** 2 - 1;
  const UNIT = { mib: "MiB/s", iops: "IOPS" };
  const RATE_NAME = { mib: "Throughput", iops: "Completions" };
  const STRIP_PX = 17, MARK_PX = 15;
  const TIME_STEPS_S = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800,
    3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 864000];

  function decode(line, length) {
    const values = new Array(length).fill(null);
    const ratio = Math.log(line.high / line.low) / (MOST - LEAST);
    for (let i = 0, at = line.skip; i < line.text.length; i += 2, at++) {
      const code = DIGIT[line.text.charCodeAt(i)] * ALPHABET.length + DIGIT[line.text.charCodeAt(i + 1)];
      if (code !== GAP) values[at] = code === ZERO ? 0 : line.low * Math.exp((code - LEAST) * ratio);
    }
    return values;
  }

  // ---- numbers for people ----
  const digits = (value) => value >= 100 ? Math.round(value).toString() : Number(value.toPrecision(3)).toString();
  function rateText(value, unit) { return value == null ? "–" : `${digits(value)} ${UNIT[unit]}`; }
  function latencyText(ns) {
    if (ns == null) return "–";
    if (ns < 1e6) return `${digits(ns / 1e3)} µs`;
    return ns < 1e9 ? `${digits(ns / 1e6)} ms` : `${digits(ns / 1e9)} s`;
  }
  function timeText(seconds) {
    if (seconds < 60) return `${Number(seconds.toPrecision(3))} s`;
    const whole = Math.round(seconds), d = Math.floor(whole / 86400), h = Math.floor(whole / 3600) % 24;
    const parts = [[d, "d"], [h, "h"], [Math.floor(whole / 60) % 60, "min"], [whole % 60, "s"]];
    return parts.filter(([n]) => n > 0).map(([n, unit]) => `${n} ${unit}`).join(" ") || "0";
  }

  // ---- the look, read from the style sheet so that dark, light and print have one source ----
  function palette() {
    const style = getComputedStyle(document.documentElement);
    const names = ["paper", "ink", "quiet", "line", "band", "candidate", "baseline"];
    return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  }
  function faded(color, share) { return `color-mix(in srgb, ${color} ${share * 100}%, transparent)`; }
  function solid(color, share, paper) {
    const parse = (hex) => (hex.length === 4 ? [...hex.slice(1)].map((c) => c + c) : hex.slice(1).match(/../g)).map((c) => parseInt(c, 16));
    const [a, b] = [parse(color), parse(paper)];
    return `rgb(${a.map((v, i) => Math.round(v * share + b[i] * (1 - share))).join(" ")})`;
  }
  const SHARE = { mean: 1, p99: 0.6, max: 0.32 };
  const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';

  // ---- a point whose neighbours are gaps has no line: draw it as a dot ----
  function lonely(u, seriesIndex) {
    const values = u.data[seriesIndex], [from, to] = u.series[0].idxs, found = [];
    for (let i = from; i <= to; i++) if (values[i] != null && values[i - 1] == null && values[i + 1] == null) found.push(i);
    return found;
  }

  // ---- bands and marks ----
  function clip(u, draw) {
    const { ctx } = u, { left, top, width, height } = u.bbox;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top - u.bbox.top, width, height + u.bbox.top);
    ctx.clip();
    draw(ctx, { left, top, width, height, ratio: devicePixelRatio || 1 });
    ctx.restore();
  }
  function drawBands(u, sides, colors) {
    if (sides[0].bands.length < 2) return;
    clip(u, (ctx, box) => {
      const x = (seconds) => u.valToPos(seconds, "x", true);
      sides[0].bands.forEach((band, i) => {
        if (i % 2) return;
        ctx.fillStyle = colors.band;
        ctx.fillRect(x(band.from_s), box.top, x(band.to_s) - x(band.from_s), box.height);
      });
    });
  }
  // Above the plot stand a strip for each target and below them a line of text for each mark: over nothing that is drawn.
  const marksOf = (sides) => sides.flatMap((side) => side.marks);
  const marksHeight = (sides) => MARK_PX * marksOf(sides).length;
  function drawStrips(u, sides, colors) {
    clip(u, (ctx, box) => {
      const x = (seconds) => Math.min(Math.max(u.valToPos(seconds, "x", true), box.left), box.left + box.width);
      ctx.font = FONT.replace("12px", `${11 * box.ratio}px`);
      ctx.textBaseline = "middle";
      ctx.textAlign = "left";
      sides.forEach((side, row) => {
        const height = STRIP_PX * box.ratio, top = box.top - marksHeight(sides) * box.ratio - (sides.length - row) * height;
        side.bands.forEach((band, i) => {
          const left = x(band.from_s), width = x(band.to_s) - left, pad = 5 * box.ratio;
          if (width <= 0) return;
          ctx.fillStyle = solid(colors[side.who], 0.85, colors.paper);
          ctx.fillRect(left, top + height - 4 * box.ratio, Math.max(width - box.ratio, box.ratio), 2 * box.ratio);
          const label = [band.name, `${i + 1}`].find((text) => ctx.measureText(text).width + pad < width);
          ctx.fillStyle = colors.ink;
          if (label) ctx.fillText(label, left + 1, top + height / 2 - 2 * box.ratio);
        });
      });
    });
  }
  function drawMarks(u, sides, colors) {
    clip(u, (ctx, box) => {
      ctx.font = FONT.replace("12px", `600 ${11 * box.ratio}px`);
      ctx.textBaseline = "top";
      ctx.textAlign = "left";
      const place = (mark) => Math.round(u.valToPos(mark.at_s, "x", true));
      const shown = marksOf(sides).map((mark, row) => ({ text: mark.text, x: place(mark), top: box.top + (row * MARK_PX - marksHeight(sides)) * box.ratio }))
        .filter(({ x }) => x >= box.left && x <= box.left + box.width);
      ctx.strokeStyle = colors.ink;
      ctx.lineWidth = box.ratio;
      ctx.setLineDash([4 * box.ratio, 3 * box.ratio]);
      shown.forEach(({ x, top }) => {
        ctx.beginPath();
        ctx.moveTo(x, top);
        ctx.lineTo(x, box.top + box.height);
        ctx.stroke();
      });
      shown.forEach(({ text, x, top }) => {
        const width = ctx.measureText(text).width, gap = 5 * box.ratio;
        const left = x + gap + width < box.left + box.width ? x + gap : Math.max(x - gap - width, box.left);
        ctx.fillStyle = colors.paper;
        ctx.fillRect(left - 2 * box.ratio, top, width + 4 * box.ratio, (MARK_PX - 1) * box.ratio);
        ctx.fillStyle = colors.ink;
        ctx.fillText(text, left, top + box.ratio);
      });
    });
  }

  // ---- one figure: two plots over one time axis ----
  class Picture {
    constructor(figure) {
      this.figure = figure;
      this.data = JSON.parse(document.getElementById(figure.dataset.picture).textContent);
      this.state = { view: 0, rate: null, log: true, shown: { mean: true, p99: true, max: true }, range: null };
      this.plots = [];
      this.width = 0;
      this.controls();
      new ResizeObserver(() => { if (this.figure.clientWidth !== this.width) this.resize(); }).observe(figure);
      this.show();
    }
    get view() { return this.data.views[this.state.view]; }

    controls() {
      const box = this.figure.querySelector(".controls"), id = this.figure.dataset.picture;
      box.hidden = false;
      if (this.data.views.length > 1) {
        box.append(choice(`${id}-view`, "Show", this.data.views.map((view) => view.name), 0, (i) => {
          Object.assign(this.state, { view: i, range: null, rate: null });
          this.show();
        }));
      }
      this.rateBox = document.createElement("div");
      box.append(this.rateBox);
      this.scaleBox = document.createElement("div");
      this.scaleBox.append(choice(`${id}-scale`, "Latency scale", ["logarithmic", "linear"], 0, (i) => { this.state.log = i === 0; this.show(); }));
      box.append(this.scaleBox);
      this.reset = document.createElement("button");
      this.reset.type = "button";
      this.reset.textContent = "Whole view";
      this.reset.addEventListener("click", () => this.zoom(null));
      box.append(this.reset);
    }

    show() {
      const { view, state } = this, step = view.slot_s;
      state.rate ??= view.rates[0];
      this.rateBox.replaceChildren();
      this.rateBox.hidden = view.rates.length < 2;
      this.scaleBox.hidden = !view.latencies.length;  // of what no latency is known, like how a rebuild gets on, none is drawn
      if (view.rates.length > 1) {
        this.rateBox.append(choice(`${this.figure.dataset.picture}-rate`, "Rate", view.rates.map((unit) => UNIT[unit]),
          view.rates.indexOf(state.rate), (i) => { state.rate = view.rates[i]; this.show(); }));
      }
      this.x = Array.from({ length: view.slots }, (_, i) => (i + 0.5) * step);
      this.values = view.sides.map((side) => Object.fromEntries(
        Object.entries(side.lines).map(([name, line]) => [name, decode(line, view.slots)])));
      this.readout();
      this.draw();
      this.caption();
    }

    draw() {
      const { view, state } = this, colors = palette(), holder = this.figure.querySelector(".plots");
      this.plots.forEach((plot) => plot.destroy());
      holder.replaceChildren();
      this.width = this.figure.clientWidth;
      const order = view.sides.map((_, i) => i).reverse();  // the candidate is drawn last, on top
      const rate = order.map((i) => ({ side: i, name: state.rate, values: this.values[i][state.rate], share: 1, width: 1.2 }));
      const latency = [...view.latencies].reverse().flatMap((name) => order.map((i) => (
        { side: i, name, values: this.values[i][name], share: SHARE[name], width: name === "mean" ? 1.5 : 1, show: state.shown[name] })));
      this.plots = [
        this.plot(holder, "rate", `${RATE_NAME[state.rate]}, ${UNIT[state.rate]}`, rate, colors, true),
        ...(latency.length ? [this.plot(holder, "latency", "Completion latency", latency, colors, false)] : []),
      ];
      this.zoom(state.range);
    }

    plot(holder, kind, title, lines, colors, isRate) {
      const { view, state } = this, box = document.createElement("div");
      box.className = `plot ${kind}`;
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", `${title} over time, ${this.data.title}. Left and right move the cursor, plus and minus zoom, escape shows all.`);
      const heading = document.createElement("h4");
      heading.textContent = title;
      box.append(heading);
      holder.append(box);
      const log = !isRate && state.log;
      const axis = { stroke: colors.quiet, font: FONT, grid: { stroke: colors.line, width: 0.5 }, ticks: { stroke: colors.line, width: 1, size: 5 } };
      const options = {
        width: this.width, height: (isRate ? 270 : 290) + marksHeight(view.sides),
        padding: [STRIP_PX * view.sides.length + marksHeight(view.sides) + 4, 20, 0, 0],
        legend: { show: false },
        cursor: {
          y: false, drag: { x: true, y: false, setScale: false }, points: { show: false },
          sync: { key: this.figure.dataset.picture }, bind: { dblclick: () => () => { this.zoom(null); return null; } },
        },
        scales: {
          x: { time: false, range: (u, low, high) => low == null ? [0, view.span_s] : [low, high] },
          y: log ? { distr: 3, log: 10, range: (u, low, high) => decades(low, high) }
            : { range: (u, low, high) => [0, high > 0 ? high * 1.06 : 1] },
        },
        axes: [
          { ...axis, incrs: TIME_STEPS_S, space: this.width < 500 ? 52 : 80, size: 26, label: this.data.virtual ? "virtual time" : "time", labelSize: 18, labelFont: FONT, labelGap: 0,
            values: (u, splits) => splits.map((at) => at === 0 ? "0" : timeText(at)) },
          { ...axis, size: 62, space: 40, ...(log ? { splits: (u, i, low, high) => logSplits(low, high) } : {}),
            values: (u, splits) => splits.map((v) => v == null ? "" : isRate ? digits(v) : v === 0 ? "0" : latencyText(v)) },
        ],
        series: [{}, ...lines.map((line) => ({
          show: line.show ?? true, width: line.width, stroke: solid(colors[view.sides[line.side].who], line.share, colors.paper),
          points: { show: true, size: 3, width: 0, fill: solid(colors[view.sides[line.side].who], line.share, colors.paper), filter: lonely },
        }))],
        hooks: {
          drawClear: [(u) => drawBands(u, view.sides, colors)],
          draw: [(u) => { drawStrips(u, view.sides, colors); drawMarks(u, view.sides, colors); }],
          setCursor: [(u) => { if (u === this.plots[isRate ? 0 : 1] && u.cursor.event !== undefined) this.read(u.cursor.idx); }],
          setSelect: [(u) => { if (u.select.width > 3) this.select(u); }],
        },
      };
      const plot = new uPlot(options, [this.x, ...lines.map((line) => line.values)], box);
      const canvas = plot.ctx.canvas;
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `${title} over time; the figures stand in the tables`);
      plot.over.addEventListener("mouseleave", () => this.read(null));
      box.addEventListener("keydown", (event) => this.key(event, plot));
      return plot;
    }

    select(u) {
      const [from, to] = [u.select.left, u.select.left + u.select.width].map((px) => u.posToVal(px, "x"));
      u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      this.zoom([from, to]);
    }
    zoom(range) {
      const least = this.view.slot_s * 4;
      if (range && range[1] - range[0] < least) {
        const middle = (range[0] + range[1]) / 2;
        range = [middle - least / 2, middle + least / 2];
      }
      this.state.range = range;
      this.reset.disabled = !range;
      const [min, max] = range ?? [0, this.view.span_s];
      this.plots.forEach((plot) => plot.setScale("x", { min, max }));
    }
    key(event, plot) {
      const { min, max } = plot.scales.x, span = max - min, at = plot.cursor.idx ?? plot.valToIdx((min + max) / 2);
      const jump = Math.max(1, Math.round(span / this.view.slot_s / 100)), middle = this.x[at];
      const actions = {
        ArrowLeft: () => this.point(plot, at - jump), ArrowRight: () => this.point(plot, at + jump),
        "+": () => this.zoom([Math.max(0, middle - span / 4), Math.min(this.view.span_s, middle + span / 4)]),
        "-": () => this.zoom([Math.max(0, middle - span), Math.min(this.view.span_s, middle + span)]),
        Escape: () => this.zoom(null), 0: () => this.zoom(null),
      };
      if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      actions[event.key]();
    }
    point(plot, index) {
      index = Math.max(0, Math.min(this.x.length - 1, index));
      plot.setCursor({ left: plot.valToPos(this.x[index], "x"), top: 1 });
      this.read(index);
    }

    readout() {
      const { view, state } = this, table = document.createElement("table");
      const names = [state.rate, ...view.latencies];
      const head = table.createTHead().insertRow();
      this.when = cell(head, "th", "");
      this.when.scope = "col";
      names.forEach((name, i) => {
        const th = cell(head, "th", i ? "" : UNIT[name]);
        th.scope = "col";
        if (!i) return;
        const label = document.createElement("label"), box = document.createElement("input");
        box.type = "checkbox";
        box.checked = state.shown[name];
        box.addEventListener("change", () => { state.shown[name] = box.checked; this.draw(); });
        label.append(box, name === "mean" ? "mean latency" : name);
        th.append(label);
      });
      const body = table.createTBody();
      this.cells = view.sides.map((side) => {
        const row = body.insertRow(), th = cell(row, "th", ""), swatch = document.createElement("span");
        swatch.className = `swatch ${side.who}`;
        th.scope = "row";
        th.append(swatch, this.data[side.who]);
        return names.map(() => cell(row, "td", "–"));
      });
      this.figure.querySelector(".readout").replaceChildren(table);
      this.read(null);
    }
    read(index) {
      this.when.textContent = index == null ? "at the cursor" : `at ${timeText(this.x[index])}`;
      this.cells.forEach((cells, side) => [this.state.rate, ...this.view.latencies].forEach((name, i) => {
        const value = index == null ? null : this.values[side][name][index];
        cells[i].textContent = i ? latencyText(value) : rateText(value, name);
      }));
    }
    caption() {
      const { view } = this;
      const grain = view.exact ? `Every interval of ${view.bin} is drawn.`
        : `Each ${view.bin} is drawn as the smallest and the largest of its intervals, so that even a single short stall shows.`;
      const aligned = this.state.view && view.sides.length > 1 ? " The step begins at 0 for both targets." : "";
      this.figure.querySelector("figcaption").textContent =
        `${grain}${aligned} Drag to zoom, double-click for the whole view.` +
        (view.latencies.length ? " A gap in the latency: nothing completed." : "") +
        (view.windows ? " Where requests are few the rate is that of longer windows." : "");
    }
    resize() {
      this.width = this.figure.clientWidth;
      this.plots.forEach((plot) => plot.setSize({ width: this.width, height: plot.height }));
    }
  }

  function decades(low, high) {
    if (low == null || high == null) return [1e6, 1e9];
    return [10 ** Math.floor(Math.log10(low) + 1e-9), 10 ** Math.ceil(Math.log10(high * 1.05))];
  }
  function logSplits(low, high) {
    const first = Math.round(Math.log10(low)), last = Math.round(Math.log10(high));
    const within = last - first > 2 ? [1] : last - first > 1 ? [1, 3] : [1, 2, 5], splits = [];
    for (let power = first; power <= last; power++) for (const n of within) splits.push(n * 10 ** power);
    return splits.filter((split) => split <= high);
  }
  function cell(row, tag, text) {
    const element = document.createElement(tag);
    element.textContent = text;
    row.append(element);
    return element;
  }
  function choice(name, title, texts, chosen, act) {
    const set = document.createElement("fieldset"), legend = document.createElement("legend");
    legend.textContent = title;
    set.append(legend);
    texts.forEach((text, i) => {
      const label = document.createElement("label"), input = document.createElement("input"), span = document.createElement("span");
      Object.assign(input, { type: "radio", name, checked: i === chosen });
      input.addEventListener("change", () => act(i));
      span.textContent = text;
      label.append(input, span);
      set.append(label);
    });
    return set;
  }

  const shown = [...document.querySelectorAll("figure[data-picture]")].map((figure) => new Picture(figure));
  const redraw = () => shown.forEach((picture) => picture.draw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  matchMedia("print").addEventListener("change", redraw);
  window.shakedownPictures = shown;  // for whoever looks closer from the console, and for the tests
})();
