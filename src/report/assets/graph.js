// SPDX-License-Identifier: Apache-2.0
// The viewer of a graph: a canvas that draws what is in sight, a map of the whole, a search, and a panel with everything known of a node. The layout comes with the data. Text of the
// model reaches the page through textContent and canvas alone, never as markup.
"use strict";

(() => {
  const TEXT_FROM = 0.45; // below this zoom names are not legible and not drawn
  const LEAST_ZOOM = 0.02;
  const MOST_ZOOM = 3;

  const make = (tag, className, text) => {
    const e = document.createElement(tag);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const clamp = (v, lo, hi) => Math.min(Math.max(v, lo), hi);
  const count = (v) => Number(v).toLocaleString("en-US", { maximumFractionDigits: 4 });
  const dims = (shape) => !shape ? "?" : shape.length === 0 ? "scalar" : shape.join("\u00d7");

  // -- data: the edges of each node, and a bounding box for each edge --

  function prepare(data) {
    const { nodes, edges, node_height: height, rank_height: rankHeight } = data;
    nodes.forEach((node, i) => Object.assign(node, { index: i, in: [], out: [], text: [node.name, node.op, node.source ?? ""].join("\n").toLowerCase() }));
    data.lines = edges.map(([from, to, value, ...bends], i) => {
      nodes[from].out.push(i);
      nodes[to].in.push(i);
      const points = [[nodes[from].x, nodes[from].y + height]];
      bends.forEach((x, k) => {
        const top = nodes[from].y + (k + 1) * rankHeight;
        points.push([x, top], [x, top + height]);
      });
      points.push([nodes[to].x, nodes[to].y]);
      const xs = points.map(([x]) => x);
      return { from, to, value, points, left: Math.min(...xs), right: Math.max(...xs), top: points[0][1], bottom: points[points.length - 1][1] };
    });
    data.byDepth = [...nodes].sort((a, b) => a.y - b.y || a.x - b.x);
    data.mostShare = Math.max(0, ...nodes.map((n) => n.share ?? 0));
    return data;
  }

  // -- colours: those of the style sheet, read again when the theme changes --

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    return Object.fromEntries(["paper", "panel", "ink", "quiet", "line", "accent", "accent-soft", "mark", "array", "vector", "host", "bar"].map((n) => [n, of(n)]));
  }

  class Viewer {
    constructor(root) {
      this.root = root;
      this.data = prepare(JSON.parse(root.querySelector("script").textContent));
      this.selected = null;
      this.found = [];
      this.at = -1;
      this.view = { x: 0, y: 0, zoom: 1 };
      this.pending = false;
      this.pointers = new Map();
      this.build();
      this.listen();
      root.classList.add("viewer"); // from here on the parts have a size
      this.colours = readColours();
      this.resize();
      this.start();
    }

    // -- the parts --

    build() {
      const tools = make("div", "tools");
      this.search = make("input");
      this.search.type = "search";
      this.search.placeholder = "Find a node, operator or source name";
      this.search.setAttribute("aria-label", "Find a node by name, operator or source name");
      this.result = make("output");
      this.result.setAttribute("aria-live", "polite");
      tools.append(this.search, this.result);
      const button = (text, label, action) => {
        const b = make("button", "", text);
        b.type = "button";
        b.setAttribute("aria-label", label);
        b.addEventListener("click", action);
        tools.append(b);
      };
      button("\u2212", "Zoom out", () => this.zoomBy(1 / 1.4));
      button("+", "Zoom in", () => this.zoomBy(1.4));
      button("Width", "Fit the width", () => this.fitWidth());
      button("All", "Show the whole graph", () => this.fitAll());
      const view = make("div", "view");
      this.stage = make("div", "stage");
      this.canvas = make("canvas");
      this.canvas.tabIndex = 0;
      this.canvas.setAttribute("role", "application");
      this.canvas.setAttribute("aria-label", `Graph of ${this.data.nodes.length} nodes. Arrow keys walk from node to node, plus and minus zoom, 0 shows all, slash searches.`);
      this.map = make("canvas", "map");
      this.map.setAttribute("aria-hidden", "true");
      this.panel = make("aside");
      this.panel.setAttribute("aria-live", "polite");
      this.stage.append(this.canvas, this.map);
      view.append(this.stage, this.panel);
      this.root.prepend(tools, view);
      this.describe();
    }

    listen() {
      const c = this.canvas;
      c.addEventListener("pointerdown", (e) => this.press(e));
      c.addEventListener("pointermove", (e) => this.drag(e));
      c.addEventListener("pointerup", (e) => this.release(e));
      c.addEventListener("pointercancel", (e) => this.pointers.delete(e.pointerId));
      c.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
      c.addEventListener("keydown", (e) => this.key(e));
      this.map.addEventListener("pointerdown", (e) => { this.map.setPointerCapture(e.pointerId); this.jump(e); });
      this.map.addEventListener("pointermove", (e) => { if (e.buttons) this.jump(e); });
      this.search.addEventListener("input", () => this.find());
      this.search.addEventListener("keydown", (e) => {
        if (e.key === "Enter") { e.preventDefault(); this.next(e.shiftKey ? -1 : 1); }
      });
      document.addEventListener("themechange", () => { this.colours = readColours(); this.mapImage = null; this.draw(); });
      new ResizeObserver(() => this.resize()).observe(this.stage);
    }

    // -- the view --

    resize() {
      const ratio = devicePixelRatio || 1;
      for (const c of [this.canvas, this.map]) {
        const box = c.getBoundingClientRect();
        c.width = Math.max(1, Math.round(box.width * ratio));
        c.height = Math.max(1, Math.round(box.height * ratio));
      }
      const box = this.canvas.getBoundingClientRect();
      this.size = { width: Math.max(1, box.width), height: Math.max(1, box.height), ratio };
      this.mapImage = null;
      this.draw();
    }

    start() {
      this.view.zoom = clamp(this.size.width / this.data.width, 0.6, 1);
      this.view.x = this.data.nodes.length ? this.data.nodes[0].x - this.size.width / 2 / this.view.zoom : 0;
      this.view.y = 0;
      this.draw();
    }

    fitWidth() {
      this.view.zoom = clamp(this.size.width / this.data.width, LEAST_ZOOM, 1.5);
      this.view.x = this.data.width / 2 - this.size.width / 2 / this.view.zoom;
      this.draw();
    }

    fitAll() {
      this.view.zoom = clamp(Math.min(this.size.width / this.data.width, this.size.height / this.data.height), LEAST_ZOOM, 1.5);
      this.view.x = this.data.width / 2 - this.size.width / 2 / this.view.zoom;
      this.view.y = this.data.height / 2 - this.size.height / 2 / this.view.zoom;
      this.draw();
    }

    zoomBy(factor, px = this.size.width / 2, py = this.size.height / 2) {
      const before = this.view.zoom, zoom = clamp(before * factor, LEAST_ZOOM, MOST_ZOOM);
      this.view.x += px / before - px / zoom;
      this.view.y += py / before - py / zoom;
      this.view.zoom = zoom;
      this.draw();
    }

    show(node) {
      this.view.zoom = Math.max(this.view.zoom, 0.8);
      this.view.x = node.x - this.size.width / 2 / this.view.zoom;
      this.view.y = node.y - this.size.height / 2.5 / this.view.zoom;
      this.draw();
    }

    keepInSight(node) {
      const { x, y, zoom } = this.view, margin = 40 / zoom;
      const right = x + this.size.width / zoom, bottom = y + this.size.height / zoom;
      if (node.x - node.w / 2 < x + margin || node.x + node.w / 2 > right - margin || node.y < y + margin || node.y > bottom - 2 * margin) this.show(node);
      else this.draw();
    }

    // -- hands and keys --

    place(e) {
      const box = this.canvas.getBoundingClientRect();
      return [e.clientX - box.left, e.clientY - box.top];
    }

    press(e) {
      this.canvas.setPointerCapture(e.pointerId);
      this.canvas.focus({ preventScroll: true });
      this.pointers.set(e.pointerId, this.place(e));
      this.moved = 0;
    }

    drag(e) {
      const before = this.pointers.get(e.pointerId);
      if (!before) return;
      const now = this.place(e);
      if (this.pointers.size === 2) {
        const [other] = [...this.pointers].filter(([id]) => id !== e.pointerId).map(([, p]) => p);
        const far = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
        this.zoomBy(far(now) / far(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      } else {
        this.view.x -= (now[0] - before[0]) / this.view.zoom;
        this.view.y -= (now[1] - before[1]) / this.view.zoom;
        this.draw();
      }
      this.moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
      this.pointers.set(e.pointerId, now);
    }

    release(e) {
      this.pointers.delete(e.pointerId);
      if (this.moved < 5) this.select(this.nodeAt(...this.place(e)));
    }

    // The page scrolls over a graph that nobody has taken up; with Ctrl the wheel always zooms.
    wheel(e) {
      if (!e.ctrlKey && !e.metaKey && document.activeElement !== this.canvas) return;
      e.preventDefault();
      if (e.ctrlKey || e.metaKey) {
        this.zoomBy(Math.exp(-e.deltaY * 0.004), ...this.place(e));
      } else {
        this.view.x += e.deltaX / this.view.zoom;
        this.view.y += e.deltaY / this.view.zoom;
        this.draw();
      }
    }

    key(e) {
      const step = 60 / this.view.zoom;
      const walk = { ArrowUp: ["in", 0, -step], ArrowDown: ["out", 0, step], ArrowLeft: ["left", -step, 0], ArrowRight: ["right", step, 0] }[e.key];
      if (walk) {
        const to = this.selected && this.neighbour(walk[0]);
        if (to) {
          this.select(to);
          this.keepInSight(to);
        } else {
          this.view.x += walk[1];
          this.view.y += walk[2];
          this.draw();
        }
      } else if (e.key === "+" || e.key === "=") {
        this.zoomBy(1.4);
      } else if (e.key === "-") {
        this.zoomBy(1 / 1.4);
      } else if (e.key === "0") {
        this.fitAll();
      } else if (e.key === "/") {
        this.search.focus();
      } else if (e.key === "Escape") {
        this.select(null);
      } else if (e.key === "Home") {
        this.select(this.data.nodes[0] ?? null);
        if (this.selected) this.show(this.selected);
      } else {
        return;
      }
      e.preventDefault();
    }

    neighbour(where) {
      const { nodes, lines } = this.data, node = this.selected;
      if (where === "in") return node.in.length ? nodes[lines[node.in[0]].from] : null;
      if (where === "out") return node.out.length ? nodes[lines[node.out[0]].to] : null;
      const rank = nodes.filter((n) => n.y === node.y && (where === "left" ? n.x < node.x : n.x > node.x));
      return rank.sort((a, b) => Math.abs(a.x - node.x) - Math.abs(b.x - node.x))[0] ?? null;
    }

    jump(e) {
      const box = this.map.getBoundingClientRect(), scale = this.mapScale(box.width, box.height);
      this.view.x = (e.clientX - box.left - (box.width - this.data.width * scale) / 2) / scale - this.size.width / 2 / this.view.zoom;
      this.view.y = (e.clientY - box.top) / scale - this.size.height / 2 / this.view.zoom;
      this.draw();
    }

    nodeAt(px, py) {
      const x = this.view.x + px / this.view.zoom, y = this.view.y + py / this.view.zoom;
      return this.inSight(y - this.data.node_height, y).find((n) => y >= n.y && y <= n.y + this.data.node_height && Math.abs(x - n.x) <= n.w / 2) ?? null;
    }

    // -- search --

    find() {
      const wanted = this.search.value.trim().toLowerCase();
      this.found = wanted ? this.data.nodes.filter((n) => n.text.includes(wanted)) : [];
      this.at = -1;
      if (wanted) this.next(1);
      else this.tell();
      this.draw();
    }

    next(step) {
      if (this.found.length) {
        this.at = (this.at + step + this.found.length) % this.found.length;
        this.select(this.found[this.at]);
        this.show(this.found[this.at]);
      }
      this.tell();
    }

    tell() {
      this.result.textContent = !this.search.value.trim() ? "" : this.found.length ? `${this.at + 1} of ${this.found.length}` : "none";
    }

    // -- the panel --

    select(node) {
      this.selected = node;
      this.describe();
      this.draw();
    }

    describe() {
      const node = this.selected;
      this.panel.replaceChildren();
      if (!node) {
        this.panel.append(make("h3", "", "No node chosen"),
          make("p", "", "Click a node, or search. Drag to move; Ctrl and wheel, pinch, or + and \u2212 zoom. With the keyboard, arrows walk along the edges."));
        if (this.data.mostShare > 0) this.panel.append(make("p", "", "The fuller a node is tinted, the more of the cycles it takes."));
        return;
      }
      this.panel.append(make("h3", "mono", node.name), make("p", "", node.domain ? `${node.domain}.${node.op}` : node.op));
      if (node.source && node.source !== node.name) this.panel.append(make("p", "", `from ${node.source}`));
      if (node.place) this.panel.append(make("p", "", `on the ${node.place === "npu" ? "NPU" : node.place}: ${node.reason ?? ""}`));
      this.list("Measured", this.measured(node));
      this.list("Attributes", Object.entries(node.attributes ?? {}).map(([k, v]) => [k, Array.isArray(v) ? v.join(", ") : typeof v === "object" && v ? `${v.dtype} ${dims(v.shape)}` : String(v)]));
      this.ports("Inputs", node.inputs ?? [], (value) => node.in.map((i) => this.data.lines[i]).find((l) => l.value === value)?.from);
      this.ports("Outputs", node.outputs ?? [], (value) => node.out.map((i) => this.data.lines[i]).find((l) => l.value === value)?.to);
      for (const index of node.histograms ?? []) {
        const figure = document.getElementById(`h${index}`)?.cloneNode(true);
        figure?.removeAttribute("id");
        if (figure) this.panel.append(figure);
      }
    }

    measured(node) {
      const rows = [];
      if (node.cycles !== undefined) rows.push(["cycles", `${count(node.cycles)} (${(100 * (node.share ?? 0)).toFixed(1)} %)`]);
      if (node.array_busy !== undefined) rows.push(["array, vector, DMA", `${count(node.array_busy)}, ${count(node.vector_busy)}, ${count(node.dma_busy)}`]);
      if (node.utilization) rows.push(["array used", `${(100 * node.utilization).toFixed(1)} %`]);
      if (node.macs) rows.push(["MACs", count(node.macs)]);
      if (node.sqnr_db !== undefined) rows.push(["SQNR", typeof node.sqnr_db === "number" ? `${node.sqnr_db.toFixed(1)} dB` : node.sqnr_db]);
      if (typeof node.fall_db === "number") rows.push(["below its inputs", `${node.fall_db.toFixed(1)} dB`]);
      return rows;
    }

    list(title, rows) {
      if (!rows.length) return;
      const dl = make("dl");
      for (const [k, v] of rows) dl.append(make("dt", "", k), make("dd", "", v));
      this.panel.append(make("h4", "", title), dl);
    }

    ports(title, names, otherEnd) {
      if (!names.length) return;
      this.panel.append(make("h4", "", title));
      for (const name of names) {
        if (name === "") continue;
        const value = this.data.values[name] ?? {}, other = otherEnd(name);
        const port = make(other === undefined ? "span" : "button", "port", "");
        if (other !== undefined) {
          port.type = "button";
          port.addEventListener("click", () => { const node = this.data.nodes[other]; this.select(node); this.keepInSight(node); });
        }
        port.append(make("code", "", name));
        const parts = [value.dtype, dims(value.shape)];
        if (value.content) parts.push(`= ${value.content.map(count).join(", ")}`);
        else if (value.constant) parts.push("constant");
        if (value.channels) parts.push(`${value.channels} scales`);
        else if (value.scale !== undefined) parts.push(`scale ${Number(value.scale).toPrecision(3)}, zero point ${value.zero_point}`);
        this.panel.append(port, make("p", "", parts.filter(Boolean).join(" \u00b7 ")));
      }
    }

    // -- drawing --

    // Nodes whose upper edge is between two heights, by halving.
    inSight(top, bottom) {
      const list = this.data.byDepth;
      let lo = 0, hi = list.length;
      while (lo < hi) {
        const middle = (lo + hi) >> 1;
        if (list[middle].y < top) lo = middle + 1;
        else hi = middle;
      }
      let end = lo;
      while (end < list.length && list[end].y <= bottom) end++;
      return list.slice(lo, end);
    }

    draw() {
      if (this.pending || !this.size) return;
      this.pending = true;
      requestAnimationFrame(() => {
        this.pending = false;
        this.paint();
      });
    }

    paint() {
      const c = this.canvas.getContext("2d"), { x, y, zoom } = this.view, { width, height, ratio } = this.size;
      const right = x + width / zoom, bottom = y + height / zoom;
      c.setTransform(ratio, 0, 0, ratio, 0, 0);
      c.clearRect(0, 0, width, height);
      c.setTransform(ratio * zoom, 0, 0, ratio * zoom, -x * zoom * ratio, -y * zoom * ratio);
      this.paintEdges(c, { left: x, right, top: y, bottom });
      const found = new Set(this.found);
      for (const node of this.inSight(y - this.data.node_height, bottom)) {
        if (node.x + node.w / 2 >= x && node.x - node.w / 2 <= right) this.paintNode(c, node, found.has(node));
      }
      this.paintMap();
    }

    trace(c, line) {
      const p = line.points;
      c.moveTo(p[0][0], p[0][1]);
      for (let i = 1; i < p.length; i++) {
        const [x0, y0] = p[i - 1], [x1, y1] = p[i];
        if (x0 === x1) c.lineTo(x1, y1);
        else c.bezierCurveTo(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
      }
    }

    paintEdges(c, sight) {
      const near = this.selected;
      c.lineWidth = 1 / Math.max(this.view.zoom, 0.6);
      c.strokeStyle = this.colours.quiet;
      c.beginPath();
      const own = [];
      for (const line of this.data.lines) {
        if (line.bottom < sight.top || line.top > sight.bottom || line.right < sight.left || line.left > sight.right) continue;
        if (near && (line.from === near.index || line.to === near.index)) own.push(line);
        else this.trace(c, line);
      }
      c.globalAlpha = 0.6;
      c.stroke();
      c.globalAlpha = 1;
      c.strokeStyle = this.colours.accent;
      c.lineWidth = 2 / Math.max(this.view.zoom, 0.4);
      c.beginPath();
      for (const line of own) this.trace(c, line);
      c.stroke();
    }

    kind(node) {
      if (node.port) return "quiet";
      if (node.place === "host") return "host";
      return node.macs ? "array" : node.place === "npu" ? "vector" : "bar";
    }

    paintNode(c, node, found) {
      const { colours, data } = this, height = data.node_height, left = node.x - node.w / 2, far = this.view.zoom < TEXT_FROM;
      c.beginPath();
      c.roundRect(left, node.y, node.w, height, 5);
      c.fillStyle = far ? colours[this.kind(node)] : node.port ? colours.panel : colours.paper;
      c.fill();
      if (!far && node.share > 0) {
        c.globalAlpha = 0.75 * Math.sqrt(node.share / data.mostShare);
        c.fillStyle = colours["accent-soft"];
        c.fill();
        c.globalAlpha = 1;
      }
      const chosen = node === this.selected;
      c.lineWidth = (chosen ? 2.5 : found ? 2 : 1) / Math.max(Math.min(this.view.zoom, 1), 0.3);
      c.strokeStyle = chosen ? colours.accent : found ? colours.mark : colours.line;
      if (chosen || found || !far) c.stroke();
      if (far) return;
      c.fillStyle = colours[this.kind(node)];
      c.fillRect(left + 1, node.y + 6, 3, height - 12);
      c.textAlign = "center";
      c.fillStyle = colours.ink;
      c.font = "600 12px system-ui, sans-serif";
      c.fillText(this.fit(c, node.op, node.w - 16), node.x, node.y + 18);
      c.fillStyle = colours.quiet;
      c.font = "10px ui-monospace, Menlo, Consolas, monospace";
      c.fillText(this.fit(c, node.name, node.w - 16), node.x, node.y + 33);
    }

    fit(c, text, width) {
      if (c.measureText(text).width <= width) return text;
      let n = text.length;
      while (n > 1 && c.measureText(text.slice(0, n) + "\u2026").width > width) n--;
      return text.slice(0, n) + "\u2026";
    }

    // -- the map: drawn once a theme or size, with the window over it --

    mapScale(width, height) { return Math.min(width / this.data.width, height / this.data.height); }

    paintMap() {
      const { width, height } = this.map, c = this.map.getContext("2d"), scale = this.mapScale(width, height);
      const shift = (width - this.data.width * scale) / 2;
      if (!this.mapImage) {
        this.mapImage = make("canvas");
        Object.assign(this.mapImage, { width, height });
        const m = this.mapImage.getContext("2d");
        m.fillStyle = this.colours.paper;
        m.fillRect(0, 0, width, height);
        for (const node of this.data.nodes) {
          m.fillStyle = this.colours[this.kind(node)];
          m.fillRect(shift + (node.x - node.w / 2) * scale, node.y * scale, Math.max(node.w * scale, 1), Math.max(this.data.node_height * scale, 1));
        }
      }
      c.drawImage(this.mapImage, 0, 0);
      for (const node of this.found) {
        c.fillStyle = this.colours.mark;
        c.fillRect(shift + (node.x - node.w / 2) * scale - 1, node.y * scale - 1, Math.max(node.w * scale, 1) + 2, Math.max(this.data.node_height * scale, 1) + 2);
      }
      c.strokeStyle = this.colours.accent;
      c.lineWidth = this.size.ratio * 1.5;
      c.strokeRect(clamp(shift + this.view.x * scale, 1, width), this.view.y * scale, Math.min(this.size.width / this.view.zoom * scale, width - 2), this.size.height / this.view.zoom * scale);
    }
  }

  // A graph is made ready when it comes near the window: the page's first sight does not wait for it.
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      observer.unobserve(entry.target);
      new Viewer(entry.target);
    }
  }, { rootMargin: "400px" });
  for (const root of document.querySelectorAll(".graph")) observer.observe(root);
})();
