"use strict";

// The page is complete without this: it only makes unfolding quicker.

function folds(scope) {
  return scope.querySelectorAll("details");
}

document.querySelectorAll("button[data-fold]").forEach((button) => {
  button.hidden = false;
  button.addEventListener("click", () => {
    const open = button.dataset.fold === "open";
    folds(document.getElementById("timeline")).forEach((fold) => { fold.open = open; });
  });
});

// A link to something folded unfolds it, and whatever it stands in.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let fold = target && target.closest("details"); fold; fold = fold.parentElement.closest("details")) {
    fold.open = true;
  }
  if (target) {
    target.scrollIntoView({ block: "start" });
  }
}

window.addEventListener("hashchange", reveal);
reveal();
