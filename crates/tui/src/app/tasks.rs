//! What runs in the background: the list, and what is asked about it.

use std::sync::Arc;

use tiller_protocol::command::{BackgroundTask, Command, TaskState};
use tiller_protocol::entry::Level;

use super::command::no_tasks;
use super::overlay::Overlay;
use super::{App, Effect};
use crate::panel::{Panel, TaskRow, Tasks};
use crate::text::{clean, visible_line};

impl App {
    /// The list, or a task that is stopped by its id.
    pub(super) fn tasks(&mut self, rest: &str) -> Vec<Effect> {
        if let Some(id) = rest.strip_prefix("stop ").map(str::trim) {
            return self.stop_task(id);
        }
        if self.live.tasks.is_empty() {
            return self.open_report("Background tasks", no_tasks);
        }
        let tasks = Tasks::new(self.task_rows(), Arc::clone(&self.keys));
        self.open(Panel::Tasks(tasks))
    }

    fn stop_task(&mut self, id: &str) -> Vec<Effect> {
        let task = self.live.tasks.get(id).filter(|task| task.state == TaskState::Running);
        let Some(task) = task else {
            self.tell(Level::Warning, &format!("There is no background task {id}; /tasks lists them."));
            return Vec::new();
        };
        let what = visible_line(task.description.lines().next().unwrap_or_default());
        self.tell(Level::Info, &format!("Stopping {id}: {what}"));
        vec![Effect::Send(Command::StopTask(id.to_owned()))]
    }

    /// A task began, changed or ended.
    pub(super) fn task_changed(&mut self, task: BackgroundTask) {
        self.live.task_changed(task);
        let rows = self.task_rows();
        if let Some(Overlay::Panel(Panel::Tasks(tasks))) = &mut self.overlay {
            tasks.renew(rows);
        }
    }

    /// What a task has printed was asked for.
    pub(super) fn task_printed(&mut self, id: &str, text: &str) {
        if let Some(Overlay::Panel(Panel::Tasks(tasks))) = &mut self.overlay {
            tasks.printed(id, text);
        }
    }

    /// What the task that is marked has printed.
    pub(super) fn show_marked_task(&mut self) -> Vec<Effect> {
        self.marked_task().map(|id| Effect::Send(Command::ShowTask(id))).into_iter().collect()
    }

    pub(super) fn stop_marked_task(&mut self) -> Vec<Effect> {
        self.marked_task().map(|id| self.stop_task(&id)).unwrap_or_default()
    }

    fn marked_task(&self) -> Option<String> {
        match &self.overlay {
            Some(Overlay::Panel(Panel::Tasks(tasks))) => tasks.marked().map(|row| row.id.clone()),
            _ => None,
        }
    }

    fn task_rows(&self) -> Vec<TaskRow> {
        let row = |task: &BackgroundTask| {
            let state = format!("{:?}", task.state).to_lowercase();
            let agent = self.live.agents.values().find(|agent| agent.info.id.as_str() == task.id);
            let detail = match (&task.output, agent) {
                (Some(file), _) => format!("its output is in {}", file.display()),
                (None, Some(agent)) => clean(&agent.activity).into_owned(),
                (None, None) => String::new(),
            };
            TaskRow {
                title: format!("{}  {state}  {}", task.id, clean(&task.description).replace('\n', " ")),
                id: task.id.clone(),
                is_running: task.state == TaskState::Running,
                detail,
            }
        };
        self.live.tasks.values().map(row).collect()
    }
}
