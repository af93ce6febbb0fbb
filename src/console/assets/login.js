// The login form. The token goes to the server once and is kept nowhere.
const form = document.getElementById('login');
const field = document.getElementById('token');
const problem = document.getElementById('problem');

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  problem.textContent = '';
  const body = JSON.stringify({ token: field.value.trim() });
  const headers = { 'content-type': 'application/json' };
  try {
    const response = await fetch('/console/login', { method: 'POST', headers, body });
    if (response.ok) {
      field.value = '';
      location.replace('/console');
      return;
    }
    problem.textContent = (await response.json()).error;
  } catch {
    problem.textContent = 'The server does not answer.';
  }
  field.select();
});
field.focus();
