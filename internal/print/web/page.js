"use strict";
(() => {
  const root = document.documentElement;
  const $ = (id) => document.getElementById(id);
  const stored = (key, value) => {
    try { return value === undefined ? localStorage.getItem(key) : localStorage.setItem(key, value); } catch { return null; }
  };
  const theme = (name) => { root.dataset.theme = name; stored("ompd-theme", name); };
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const saved = stored("ompd-theme");
  if (saved === "dark" || saved === "light") root.dataset.theme = saved;
  $("tools").hidden = false;
  $("theme").addEventListener("click", () => theme(dark() ? "light" : "dark"));

  const fold = (open) => document.querySelectorAll("main details").forEach((d) => { d.open = open; });
  $("open").addEventListener("click", () => fold(true));
  $("close").addEventListener("click", () => fold(false));

  const find = $("find"), found = $("found");
  let timer = 0;
  const search = () => {
    const want = find.value.trim().toLowerCase();
    let n = 0;
    for (const part of document.querySelectorAll("main [data-find]")) {
      const hit = want === "" || part.textContent.toLowerCase().includes(want);
      part.classList.toggle("gone", !hit);
      if (hit && want !== "") {
        n++;
        for (let d = part.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
      }
    }
    for (const cell of document.querySelectorAll("main svg [data-name]")) {
      cell.setAttribute("opacity", want === "" || cell.dataset.name.toLowerCase().includes(want) ? "1" : "0.25");
    }
    found.textContent = want === "" ? "" : n + " found";
  };
  find.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 120); });

  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target === find) {
      if (e.key === "Escape") { find.value = ""; search(); find.blur(); }
      return;
    }
    const links = document.querySelectorAll(".bar a");
    if (e.key === "/") { e.preventDefault(); find.focus(); find.select(); }
    else if (e.key === "o") fold(true);
    else if (e.key === "c") fold(false);
    else if (e.key === "t") theme(dark() ? "light" : "dark");
    else if (/^[1-9]$/.test(e.key) && links[e.key - 1]) links[e.key - 1].click();
  });

  const every = Number(root.dataset.refresh || 0);
  if (every > 0) {
    const pause = $("pause"), status = $("status");
    let running = true;
    const again = async () => {
      if (!running || document.hidden) return;
      try {
        const answer = await fetch(location.href, { cache: "no-store", credentials: "same-origin" });
        if (!answer.ok) throw new Error(await answer.text());
        const next = new DOMParser().parseFromString(await answer.text(), "text/html");
        const opened = new Set([...document.querySelectorAll("main details[open][id]")].map((d) => d.id));
        $("main").replaceWith(document.adoptNode(next.getElementById("main")));
        opened.forEach((id) => { if ($(id)) $(id).open = true; });
        if (find.value !== "") search();
        status.textContent = "seen " + new Date().toLocaleTimeString();
      } catch (err) {
        status.textContent = "no new look: " + err.message;
        running = false;
        pause.textContent = "Go on";
      }
    };
    pause.hidden = false;
    pause.addEventListener("click", () => { running = !running; pause.textContent = running ? "Pause" : "Go on"; again(); });
    setInterval(again, every * 1000);
  }
})();
