// Follows a running study: asks its server every few seconds, and loads the page anew once there are new results.
(() => {
  "use strict";

  const line = document.querySelector("#live");
  const follow = document.querySelector("#follow");
  follow.checked = sessionStorage.getItem("follow") !== "no";
  follow.addEventListener("change", () => sessionStorage.setItem("follow", follow.checked ? "yes" : "no"));

  const look = async () => {
    try {
      const answer = await fetch("state", {cache: "no-store"});
      if (!answer.ok) throw new Error(await answer.text());
      const state = await answer.json();
      line.textContent = state.text;
      if (follow.checked && state.token !== line.dataset.token) location.reload();
    } catch (error) {
      line.textContent = `no news of the study: ${error.message}`;
    }
  };
  setInterval(look, 3000);
})();
