// SPDX-License-Identifier: Apache-2.0
// What the page does beyond standing there: the theme's switch, the mark in the navigation, a filter over long tables.
"use strict";

(() => {
  const root = document.documentElement;
  root.classList.add("js");

  const element = (tag, properties) => Object.assign(document.createElement(tag), properties);

  function addThemeSwitch() {
    const head = document.querySelector(".top");
    if (!head) return;
    const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    const button = element("button", { type: "button", className: "theme" });
    const show = () => {
      button.textContent = dark() ? "Light" : "Dark";
      button.setAttribute("aria-label", `Switch to ${dark() ? "light" : "dark"} colours`);
    };
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      show();
      document.dispatchEvent(new Event("themechange"));
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      show();
      document.dispatchEvent(new Event("themechange"));
    });
    show();
    head.append(button);
  }

  function addFilter(fold) {
    const rows = [...fold.querySelectorAll("tbody tr")];
    if (rows.length === 0) return;
    const input = element("input", { type: "search", className: "filter", placeholder: "Filter" });
    input.setAttribute("aria-label", "Filter the table's rows");
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase();
      for (const row of rows) row.hidden = wanted !== "" && !row.textContent.toLowerCase().includes(wanted);
    });
    fold.querySelector("summary").after(input);
  }

  function followSections() {
    const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
    if (!("IntersectionObserver" in window)) return;
    const seen = new Set();
    const observer = new IntersectionObserver((entries) => {
      for (const entry of entries) entry.isIntersecting ? seen.add(entry.target.id) : seen.delete(entry.target.id);
      let first = true;
      for (const [id, link] of links) {
        const current = first && seen.has(id);
        if (current) first = false;
        current ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
      }
    }, { rootMargin: "-15% 0px -60% 0px" });
    for (const id of links.keys()) {
      const section = document.getElementById(id);
      if (section) observer.observe(section);
    }
  }

  addThemeSwitch();
  for (const fold of document.querySelectorAll("details.fold")) fold.addEventListener("toggle", () => addFilter(fold), { once: true });
  followSections();
})();
